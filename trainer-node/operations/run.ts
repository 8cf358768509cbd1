import { InputProblem } from "../compute/problem.ts";
import { TrainerError } from "../errors.ts";
import { registeredNames } from "../functions/registry.ts";
import { functionRun } from "../functions/run-function.ts";
import type { Operation } from "../pool/messages.ts";
import type { ByteSource } from "../stream/byte-source.ts";
import { aggregate } from "./aggregate.ts";
import { type OperationAnswer, type WrittenAnswer, writeAnswer } from "./answer.ts";
import { type BodyType, readCallBody } from "./call-body.ts";
import { createRawIntake } from "./client-intake.ts";
import { withCompression } from "./compressed-train.ts";
import { evaluate } from "./evaluate.ts";
import type { OperationContext } from "./participant.ts";
import { predict } from "./predict.ts";
import { train } from "./train.ts";
import { fetchUri } from "./uri-dataset.ts";

type OperationRun = (fields: object, context: OperationContext) => OperationAnswer | Promise<OperationAnswer>;

const BUILT_IN: Readonly<Partial<Record<Operation, OperationRun>>> = {
  aggregate,
  train: withFetched(train),
  evaluate: withFetched(evaluate),
  predict: withFetched(predict),
};
/** Methods of `/call`, the second generation of the protocol: one route, with the operation in the body. */
const METHODS = ["train", "evaluate", "aggregate", "serve"] as const;

/** One call of an operation. */
export interface OperationCall {
  readonly operation: Operation;
  readonly bodyType: BodyType;
  readonly answerType: BodyType;
  /** The other fields of a call with an octet body. */
  readonly config: string | undefined;
}

/** Runs one call from the bytes of its body to the bytes of its answer. Throws the caller's errors. */
export async function runOperation(call: OperationCall, body: ByteSource, context: OperationContext): Promise<WrittenAnswer> {
  const { operation, bodyType, config } = call;
  // An unknown operation is refused before its body, which may be long, is read.
  const known = operation === "call" ? undefined : findRun(operation, context);
  // Only an aggregate has a list, so its intake is known before the method is.
  const intake = functionRun("aggregate") ? createRawIntake() : context.intake;
  const fields = readCallBody(body, { bodyType, config, list: operation === "aggregate", intake });
  refuseClosedRound(fields, context.closedRounds);
  const run = known ?? findRun(methodOf(fields), context);
  return writeAnswer(await run(fields, context), call.answerType);
}

/** Runs an operation after fetching its dataset from another machine, if needed. */
function withFetched(run: OperationRun): OperationRun {
  return async (fields, context) => {
    const { dataset } = fields as { dataset?: unknown };
    const fetched = await fetchUri(dataset, context.data, context.signal);
    return run(fields, { ...context, data: { ...context.data, fetched } });
  };
}

/** A registered function takes precedence over the built-in one. */
function findRun(operation: Exclude<Operation, "call">, { builtins }: OperationContext): OperationRun {
  const run = functionRun(operation) ?? (builtins ? BUILT_IN[operation] : undefined);
  if (run) return operation === "train" ? withCompression(run) : run;
  throw new TrainerError(
    "NOT_REGISTERED",
    `This node has no ${operation} function: none is registered, and built-in functions are off or do not include it.`,
    {
      details: { operation, registered: registeredNames() },
    },
  );
}

function methodOf(fields: object): (typeof METHODS)[number] {
  const { method } = fields as { method?: unknown };
  const found = METHODS.find((name) => name === method);
  if (!found) throw new InputProblem("VALIDATION_ERROR", `method must be one of: ${METHODS.join(", ")}`, { field: "method" });
  return found;
}

function refuseClosedRound(fields: object, closed: ReadonlySet<string>): void {
  const { round_id: round } = fields as { round_id?: unknown };
  if ((typeof round !== "string" && typeof round !== "number") || !closed.has(String(round))) return;
  throw new TrainerError("ROUND_CLOSED", `Round ${String(round).slice(0, 100)} is closed; calls for it are refused.`, {
    details: { round_id: round },
  });
}
