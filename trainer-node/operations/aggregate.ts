import { decodeBase64, encodeBase64 } from "../codec/base64.ts";
import { decodeParameters, encodeParameters, type Format } from "../codec/parameters.ts";
import { findMismatch, findNonFinite, meanOf } from "../compute/aggregators/mean.ts";
import { InputProblem } from "../compute/problem.ts";
import type { Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { type OperationContext, sha256 } from "./participant.ts";
import { type AggregateRequest, parseAggregateRequest } from "./schemas.ts";

interface Client {
  readonly index: number;
  readonly id: string;
  readonly weight: number;
  readonly sha256: string;
  readonly format: Format;
  readonly tensors: readonly Tensor[];
  /** Why it has no part in the result; undefined when it has. */
  readonly refused: { tensor: string; element: number } | undefined;
}

/** `/aggregate`: one set of parameters from many. */
export function aggregate(value: unknown, context: OperationContext): object {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseAggregateRequest(value);
  checkLists(body);
  const clients = body.parameters_list.map((text, index) => readClient(text, index, body));
  const [first] = clients;
  if (!first) throw new InputProblem("EMPTY_LIST", "parameters_list is empty");
  refuseMismatch(clients, first);
  if (body.on_invalid === "refuse") refuseNonFinite(clients);
  const accepted = inFixedOrder(clients.filter((client) => !client.refused));
  if (accepted.length === 0) throw new InputProblem("TOO_FEW_CLIENTS", "every client was dropped: all sent NaN or infinity");
  const bytes = encodeParameters(meanOf(accepted), first.format);
  return {
    parameters: encodeBase64(bytes),
    metrics: { duration_ms: context.monotonicMs() - startedMs },
    sha256: sha256(bytes),
    format: first.format,
    clients: clients.map(describeClient),
    warnings,
  };
}

/** What can be said before a byte is decoded. */
function checkLists({ parameters_list: list, weights, client_ids: ids }: AggregateRequest): void {
  if (list.length === 0) throw new InputProblem("EMPTY_LIST", "parameters_list is empty");
  for (const [name, given] of Object.entries({ weights, client_ids: ids })) {
    if (given && given.length !== list.length) {
      throw new InputProblem("VALIDATION_ERROR", `${name} has ${given.length} entries and parameters_list has ${list.length}`, {
        field: name,
      });
    }
  }
  if (weights?.every((weight) => weight === 0))
    throw new InputProblem("VALIDATION_ERROR", "the weights must have a sum above 0", { field: "weights" });
}

function readClient(text: string, index: number, { weights, client_ids: ids }: AggregateRequest): Client {
  try {
    if (text === "") throw new InputProblem("VALIDATION_ERROR", "its parameters are empty");
    const bytes = decodeBase64(text, `parameters_list[${index}]`);
    const { format, tensors } = decodeParameters(bytes);
    return {
      index,
      id: ids?.[index] ?? String(index),
      weight: weights?.[index] ?? 1,
      sha256: sha256(bytes),
      format,
      tensors,
      refused: findNonFinite(tensors),
    };
  } catch (thrown) {
    if (!(thrown instanceof InputProblem || thrown instanceof TrainerError)) throw thrown;
    throw new TrainerError(thrown.kind, `client ${index}: ${thrown.message}`, {
      details: { ...thrown.details, client: index },
      cause: thrown,
    });
  }
}

function refuseMismatch(clients: readonly Client[], reference: Client): void {
  for (const { index, tensors } of clients) {
    const mismatch = findMismatch(reference.tensors, tensors);
    if (mismatch)
      throw new InputProblem(mismatch.kind, `client ${index}: ${mismatch.message} as client 0 has it`, {
        client: index,
        tensor: mismatch.tensor,
      });
  }
}

function refuseNonFinite(clients: readonly Client[]): void {
  for (const { index, refused } of clients) {
    if (refused)
      throw new InputProblem("NON_FINITE", `client ${index}: tensor "${refused.tensor}" has a NaN or infinity`, {
        client: index,
        ...refused,
      });
  }
}

/**
 * Float sums depend on their order, and every voter must get the same bytes whatever order the results reached it in. So clients are
 * summed by the hash of what they sent, then by weight; two that are equal in both cannot be told apart by the sum either.
 */
function inFixedOrder(clients: readonly Client[]): Client[] {
  return clients.toSorted((left, right) => (left.sha256 < right.sha256 ? -1 : left.sha256 > right.sha256 ? 1 : left.weight - right.weight));
}

function describeClient({ id, index, weight, sha256: digest, refused }: Client): object {
  const base = { id, index, weight, sha256: digest, accepted: !refused };
  return refused ? { ...base, reason: "NON_FINITE", tensor: refused.tensor } : base;
}
