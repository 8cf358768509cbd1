import { hash } from "node:crypto";
import { type OwnStrategy, sourceHash } from "../../../common/strategies/shared/own-strategy.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { TrainerError } from "../../errors.ts";
import type { Aggregation, AggregationInput } from "../aggregation.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { inspectUpdate, requireLayout } from "../updates/inspect-update.ts";
import { runStrategy, type StrategyLimits, StrategyProblem } from "./strategy-process.ts";

interface OwnStrategies extends StrategyLimits {
  /** Whether the operator allows them. */
  readonly allowed: boolean;
}

type Made = { parameters: Uint8Array; state: Uint8Array | undefined };

/** Adds own strategies to an aggregation: theirs are computed by processes, all others as before. */
export function withOwnStrategies(aggregation: Aggregation, { blobs, ...options }: OwnStrategies & { blobs: BlobFolder }): Aggregation {
  const keepOrHash = async (bytes: Uint8Array, keep: boolean): Promise<string> =>
    keep ? (await blobs.keepBytes(bytes)).sha256 : hash("sha256", bytes, "hex");
  const make = async ({ own, ...input }: AggregationInput & { own: OwnStrategy }, signal: AbortSignal): Promise<Made> => {
    if (!options.allowed) throw problem(input, "the operator of this coordinator does not allow own strategies (OWN_STRATEGIES)");
    if (input.strategy["source"] !== sourceHash(own.source)) throw problem(input, "its source is not the one that the round recorded");
    try {
      const [parameters, state] = await runStrategy({ own, header: headerOf(input), blobs: blobsOf(blobs, input) }, options, signal);
      if (!parameters) throw new StrategyProblem("it returned no parameters");
      await requireFitting(blobs, input, parameters);
      return { parameters, state };
    } catch (thrown) {
      if (thrown instanceof StrategyProblem || thrown instanceof ParticipantProblem) throw problem(input, thrown.message);
      throw thrown;
    }
  };
  return {
    ...aggregation,
    store: async (input, signal) => {
      const { own, keep = true } = input;
      if (!own) return aggregation.store(input, signal);
      const { parameters, state } = await make({ ...input, own }, signal);
      return {
        parameters: await keepOrHash(parameters, keep),
        state: state && (await keepOrHash(state, keep)),
        clients: new Map(),
      };
    },
    run: async (input, signal) => {
      const { own } = input;
      return own ? { ...(await make({ ...input, own }, signal)), clients: new Map() } : aggregation.run(input, signal);
    },
  };
}

/** What a strategy is told, all of it in the round's record, so that the round can be made again. Updates have no names for that reason. */
function headerOf({ strategy, updates }: AggregationInput): object {
  const { name: _name, language: _language, source: _source, round, ...settings } = strategy;
  return { settings, round, weights: updates.map(({ weight }) => weight) };
}

/** One at a time, so that the coordinator holds one model. */
async function* blobsOf(blobs: BlobFolder, { base, state, updates }: AggregationInput): AsyncGenerator<Uint8Array> {
  for (const sha256 of [base, state, ...updates.map(({ hash: update }) => update)])
    yield sha256 === "" ? new Uint8Array(0) : asSafetensors(await blobs.read(sha256));
}

function asSafetensors(bytes: Uint8Array): Uint8Array {
  const { tensors, format } = decodeParameters(bytes);
  return format === "safetensors" ? bytes : encodeParameters(tensors, "safetensors");
}

/** The result must be a model like its updates, with finite numbers. */
async function requireFitting(blobs: BlobFolder, { updates }: AggregationInput, result: Uint8Array): Promise<void> {
  const [first] = updates;
  if (!first) throw new Error("a round needs at least one update");
  requireLayout(inspectUpdate(result), inspectUpdate(await blobs.read(first.hash)));
}

const problem = ({ strategy }: AggregationInput, message: string) =>
  new TrainerError("VALIDATION_ERROR", `The own strategy ${String(strategy["name"])} failed: ${message}.`);
