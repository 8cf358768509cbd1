import { tooFewClients } from "../../../common/strategies/shared/least-clients.ts";
import { settingsOf } from "../../../common/strategies/shared/settings.ts";
import { difference, type Model } from "../clients/model.ts";
import { alignTo, type ClientRecords, type Segment } from "../clients/segments.ts";
import { createVectors, type Profile } from "../clients/vectors.ts";
import { InputProblem } from "../problem.ts";
import { ELEMENT_BYTES, type Floats, firstNonFinite, firstNonFiniteAs, isFloat, type Tensor } from "../tensor.ts";
import type { Aggregator, Verdict } from "./aggregator.ts";
import { maximumOf } from "./maximum.ts";
import { readSettings, type Settings } from "./settings.ts";

/** The input of an aggregation of client records. */
export interface RecordAggregation {
  readonly aggregator: Aggregator;
  readonly records: ClientRecords;
  /** The record of each client, in the order that is the same on every node (see client-order.ts). */
  readonly order: readonly number[];
  /** By record. */
  readonly weights: readonly number[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly base: readonly Tensor[] | undefined;
  readonly state: readonly Tensor[] | undefined;
}

/** The report about one client's update. */
export interface ClientReport extends Verdict {
  /** Norm of the update: of the difference from the base, or of the parameters without a base. */
  readonly norm: number;
  /** Cosine between this update and the resulting one; null if either has no length. */
  readonly cosine: number | null;
}

/** The result of an aggregation. */
export interface AggregatedModel {
  readonly tensors: Tensor[];
  readonly state: Tensor[] | undefined;
  /** By record. */
  readonly reports: ReadonlyMap<number, ClientReport>;
}

/** Runs a strategy over records with equal shapes and types and finite numbers. */
export function runAggregator(input: RecordAggregation): AggregatedModel {
  const { tensors, state, verdicts, profile } = runPiece(input);
  return { tensors, state, reports: reportsOf(input.order, verdicts, profile) };
}

/** The result for the whole model, or for a piece of it if the strategy is columnwise. Profiles of pieces add up. */
export interface Piece {
  readonly tensors: Tensor[];
  readonly state: Tensor[] | undefined;
  /** In the order of the clients. */
  readonly verdicts: readonly Verdict[];
  readonly profile: Profile;
}

/** Aggregates the whole model, or a piece of it if the strategy is columnwise. */
export function runPiece(input: RecordAggregation): Piece {
  const { aggregator, records, order } = input;
  const floats = records.segments.filter((segment) => segment.float);
  const table = settingsOf(aggregator.settings, "aggregate");
  const everyWeight = order.map((record) => input.weights[record] ?? 1);
  const counted = countedClients(aggregator, readSettings(table, input.settings, order), everyWeight);
  const weights = counted.map((client) => everyWeight[client] as number);
  // Lists with a value per client are read for these clients.
  const countedOrder = counted.map((client) => order[client] as number);
  const settings = readSettings(table, input.settings, countedOrder);
  refuseTooFew(aggregator, settings, { clients: counted.length, uncounted: order.length - counted.length });
  const base = readBase(input, floats);
  const vectors = createVectors(records, order);
  const names = floats.map((segment) => segment.name);
  const seen = counted.length === order.length ? vectors : vectors.select(counted);
  const result = aggregator.run({ vectors: seen, weights, base, names, state: readState(input, floats), settings });
  const profile = vectors.profile(base, base ? difference(result.model, base, records.results.take) : result.model);
  // A sum of squares is finite only if all terms are, so a result that is written as it is need not be read again to check it.
  const isSmall = Number.isFinite(profile.stepSquared);
  for (const [index, { name, dtype, elementBytes }] of floats.entries()) {
    if (isSmall && elementBytes === ELEMENT_BYTES[dtype]) continue;
    refuseOverflow("result", { name, dtype, data: result.model[index] as Floats });
  }
  const state = result.state && writeState(result.state, floats);
  for (const tensor of state ?? []) refuseOverflow("strategy's state", tensor);
  const verdicts = order.map((): Verdict => ({ accepted: false, reason: "WEIGHT_ZERO" }));
  for (const [place, client] of counted.entries()) verdicts[client] = result.verdicts?.[place] ?? { accepted: true };
  const accepted = order.filter((_, client) => verdicts[client]?.accepted);
  return {
    tensors: records.segments.map((segment) => {
      const { name, dtype, shape } = segment;
      if (segment.float) return { name, dtype, shape, data: result.model[floats.indexOf(segment)] as Floats } as Tensor;
      return maximumOf(records, segment, accepted.length > 0 ? accepted : order);
    }),
    state,
    verdicts,
    profile,
  };
}

const NOTHING = "the weights of the accepted clients must have a sum above 0";

/**
 * The clients that the strategy sees: those of weight 0 weigh nothing, in no strategy. One that the others are measured against is seen
 * whatever it weighs.
 */
function countedClients({ references }: Aggregator, settings: Settings, weights: readonly number[]): number[] {
  if (!weights.some((weight) => weight > 0)) throw new InputProblem("VALIDATION_ERROR", NOTHING, { field: "weights" });
  const needed = references?.(settings) ?? [];
  return [...weights.keys()].filter((client) => (weights[client] as number) > 0 || needed[client] === 1);
}

/** Norm, cosine and verdict of every client's update, by record. */
export function reportsOf(
  order: readonly number[],
  verdicts: readonly Verdict[],
  { squared, dots, stepSquared, originDot }: Profile,
): Map<number, ClientReport> {
  return new Map(
    order.map((record, client) => {
      const norm = Math.sqrt(squared[client] as number);
      const cosine = ((dots[client] as number) - originDot) / (norm * Math.sqrt(stepSquared));
      const shown = Number.isFinite(cosine) ? Math.max(-1, Math.min(1, cosine)) : null;
      return [record, { norm, cosine: shown, ...verdicts[client], accepted: verdicts[client]?.accepted ?? true }];
    }),
  );
}

/** Refuses fewer clients than the strategy requires. */
function refuseTooFew(aggregator: Aggregator, settings: Settings, { clients, uncounted }: { clients: number; uncounted: number }): void {
  const few = tooFewClients(aggregator, settings.optional, clients);
  if (!few) return;
  const message = uncounted === 0 ? few.message : `${few.message}, and ${uncounted} of weight 0, which count for nothing`;
  throw new InputProblem("TOO_FEW_CLIENTS", message, { setting: few.setting, clients, needed: few.least });
}

function readBase({ aggregator, base, records }: RecordAggregation, floats: readonly Segment[]): Model | undefined {
  if (!base) {
    if (aggregator.base !== "required") return undefined;
    throw new InputProblem("VALIDATION_ERROR", `strategy ${aggregator.name} requires the current global parameters: send them as base`, {
      field: "base",
    });
  }
  return floatModel(base, records.segments, floats, "base");
}

function floatModel(tensors: readonly Tensor[], segments: readonly Segment[], floats: readonly Segment[], field: string): Model {
  const aligned = alignTo(segments, tensors);
  if (!Array.isArray(aligned))
    throw new InputProblem(aligned.kind, `${field}: ${aligned.message} as the clients have it`, { field, tensor: aligned.tensor });
  return floats.map(({ name }) => finiteData(aligned.find((tensor) => tensor.name === name) as Tensor, field));
}

function finiteData(tensor: Tensor, field: string): Floats {
  if (!isFloat(tensor))
    throw new InputProblem("DTYPE_MISMATCH", `${field}: tensor "${tensor.name}" does not have float elements`, {
      field,
      tensor: tensor.name,
    });
  const element = firstNonFinite(tensor.data);
  if (element >= 0)
    throw new InputProblem("NON_FINITE", `${field}: tensor "${tensor.name}" has a NaN or infinity`, {
      field,
      tensor: tensor.name,
      element,
    });
  return tensor.data;
}

const SEPARATOR = "/";

function readState({ aggregator, state }: RecordAggregation, floats: readonly Segment[]): Record<string, Model> {
  if (!state || !aggregator.slots) return {};
  return Object.fromEntries(
    aggregator.slots.map((slot) => {
      const own = state
        .filter((tensor) => tensor.name.startsWith(slot + SEPARATOR))
        .map((tensor) => ({ ...tensor, name: tensor.name.slice(slot.length + 1) }) as Tensor);
      const expected = floats.map((segment) => ({ ...segment, dtype: stateType(segment) }));
      return [slot, floatModel(own, expected, expected, "state")];
    }),
  );
}

function writeState(state: Readonly<Record<string, Model>>, floats: readonly Segment[]): Tensor[] {
  return Object.entries(state).flatMap(([slot, model]) =>
    floats.map(
      (segment, index): Tensor => ({
        name: slot + SEPARATOR + segment.name,
        dtype: stateType(segment),
        shape: segment.shape,
        data: model[index] as Floats,
      }),
    ),
  );
}

/** Moments of half-precision floats are stored as float32: rounded to half precision, they would stop changing. */
function stateType({ elementBytes }: Segment): "f32" | "f64" {
  return elementBytes === 4 ? "f32" : "f64";
}

/** Later rounds would fail on what is infinite now, and the model could not be used. */
function refuseOverflow(what: string, { name, dtype, data }: Pick<Tensor, "name" | "dtype" | "data">): void {
  const element = firstNonFiniteAs(dtype, data as Floats);
  if (element < 0) return;
  const message = `the ${what} has a NaN or infinity in tensor "${name}"; the inputs or settings are too large`;
  throw new InputProblem("NON_FINITE", message, { tensor: name, element });
}
