import { decodeParameters, encodePieces } from "../codec/parameters.ts";
import { findAggregator } from "../compute/aggregators/registry.ts";
import { runAggregator } from "../compute/aggregators/run-aggregator.ts";
import { InputProblem } from "../compute/problem.ts";
import type { Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { clientOrder } from "../records/client-order.ts";
import { type OperationAnswer, sha256 } from "./answer.ts";
import type { ClientEntry } from "./client-intake.ts";
import { type OperationContext, refuseOtherBase } from "./participant.ts";
import { type AggregateRequest, parseAggregateRequest } from "./schemas.ts";

/** What an aggregation needs of its operation's context. */
export type AggregateContext = Pick<OperationContext, "records" | "intake" | "readBlob" | "monotonicMs">;

/** `/aggregate`: combines the parameters of many clients. The clients are already in the records, so this orders and combines them. */
export function aggregate(value: object, context: AggregateContext): OperationAnswer {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseAggregateRequest(value);
  const entries = allEntries(body, context);
  checkLists(body, entries);
  if (body.on_invalid === "refuse") refuseNonFinite(entries, body.client_ids);
  const taken = entries.flatMap((entry, index) => (entry.record === undefined ? [] : [{ record: entry.record, index }]));
  if (taken.length === 0) throw new InputProblem("TOO_FEW_CLIENTS", "every client was dropped, because all of them sent a NaN or infinity");
  const { name = "mean", ...settings } = body.strategy ?? {};
  const aggregator = findAggregator(name);
  if (!aggregator) throw new Error(`the schema let an unknown strategy through: ${name}`);
  // Values by record: a refused entry has no record, and a list that the body contains twice leaves records that no entry refers to.
  const byRecord = <Value>(valueAt: (index: number) => Value, otherwise: Value): Value[] => {
    const values = new Array<Value>(context.records.count).fill(otherwise);
    for (const { record, index } of taken) values[record] = valueAt(index);
    return values;
  };
  const weights = byRecord((index) => body.weights?.[index] ?? 1, 0);
  const lists = Object.entries(settings).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  checkSettingLists(lists, entries.length);
  const perRecord = lists.map(([key, list]): [string, unknown[]] => [key, byRecord((index) => list[index], undefined)]);
  const order = clientOrder(
    context.records,
    taken.map(({ record }) => record),
    (record) => [weights[record] ?? 1, ...perRecord.map(([, list]) => Number(list[record]))],
  );
  const base = body.base ?? (body.base_ref ? context.readBlob(body.base_ref.slice("sha256:".length)) : undefined);
  refuseOtherBase(body.base_hash, base);
  const result = runAggregator({
    aggregator,
    records: context.records,
    order,
    weights,
    settings: { ...settings, ...Object.fromEntries(perRecord) },
    base: readContainer(base, "base"),
    state: readContainer(body.state ?? undefined, "state"),
  });
  const format = entries[0]?.format ?? "msgpack";
  const parameters = encodePieces(result.tensors, format);
  return {
    parameters,
    state: result.state && encodePieces(result.state, "msgpack"),
    fields: {
      metrics: { duration_ms: context.monotonicMs() - startedMs },
      sha256: sha256(parameters),
      format,
      strategy: name,
      clients: entries.map((entry, index) => {
        const about = { id: body.client_ids?.[index] ?? String(index), index, weight: body.weights?.[index] ?? 1 };
        if (entry.record === undefined) return { ...about, accepted: false, reason: "NON_FINITE", tensor: entry.refused?.tensor };
        return { ...about, ...result.reports.get(entry.record) };
      }),
      warnings,
    },
  };
}

function allEntries({ parameters_list: list, parameters_refs: references }: AggregateRequest, context: AggregateContext): ClientEntry[] {
  if (!list && !references)
    throw new InputProblem("VALIDATION_ERROR", "body.parameters_list: must be a list of base64 strings", { field: "parameters_list" });
  const referred = (references ?? []).map((reference, index) =>
    context.intake.take(context.readBlob(reference.slice("sha256:".length)), (list?.length ?? 0) + index),
  );
  return [...(list ?? []), ...referred];
}

function checkLists({ weights, client_ids: ids }: AggregateRequest, entries: readonly ClientEntry[]): void {
  if (entries.length === 0) throw new InputProblem("EMPTY_LIST", "parameters_list is empty");
  for (const [name, given] of Object.entries({ weights, client_ids: ids })) {
    if (given && given.length !== entries.length) {
      throw new InputProblem("VALIDATION_ERROR", `${name} has ${given.length} entries and parameters_list has ${entries.length}`, {
        field: name,
      });
    }
  }
  if (weights?.every((weight) => weight === 0))
    throw new InputProblem("VALIDATION_ERROR", "the weights must have a sum above 0", { field: "weights" });
}

/** A setting with one value per client must have them in the order of the request. */
function checkSettingLists(lists: readonly [string, unknown[]][], clients: number): void {
  for (const [name, list] of lists) {
    if (list.length !== clients) {
      throw new InputProblem(
        "VALIDATION_ERROR",
        `strategy.${name.slice(0, 100)} has ${list.length} entries and parameters_list has ${clients}`,
        {
          setting: name.slice(0, 100),
        },
      );
    }
  }
}

/** A client is named as the caller does: by its id, if there is one, and its place in the list. */
function refuseNonFinite(entries: readonly ClientEntry[], ids: AggregateRequest["client_ids"]): void {
  for (const [index, { refused }] of entries.entries()) {
    if (!refused) continue;
    const id = ids?.[index];
    const name = id === undefined ? `client ${index}` : `client ${id} (parameters_list[${index}])`;
    throw new InputProblem("NON_FINITE", `${name}: tensor "${refused.tensor}" has a NaN or infinity`, {
      client: index,
      ...(id === undefined ? {} : { client_id: id }),
      ...refused,
    });
  }
}

function readContainer(bytes: Uint8Array | undefined, field: string): readonly Tensor[] | undefined {
  if (!bytes) return undefined;
  try {
    return decodeParameters(bytes).tensors;
  } catch (thrown) {
    if (!(thrown instanceof InputProblem || thrown instanceof TrainerError)) throw thrown;
    throw new TrainerError(thrown.kind, `${field}: ${thrown.message}`, { details: { ...thrown.details, field }, cause: thrown });
  }
}
