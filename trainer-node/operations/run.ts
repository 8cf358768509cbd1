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
import { evaluate } from "./evaluate.ts";
import type { OperationContext } from "./participant.ts";
import { predict } from "./predict.ts";
import { train } from "./train.ts";
import { fetchUri } from "./uri-dataset.ts";

type Run = (fields: object, context: OperationContext) => OperationAnswer | Promise<OperationAnswer>;

const BUILT_IN: Readonly<Record<Exclude<Operation, "call">, Run>> = {
  aggregate,
  train: withFetched(train),
  evaluate: withFetched(evaluate),
  predict: withFetched(predict),
};
/** What `/call` may name, the second generation of the protocol: one route, and the operation in the body. */
const METHODS = ["train", "evaluate", "aggregate"] as const;

export interface Call {
  readonly operation: Operation;
  readonly bodyType: BodyType;
  readonly answerType: BodyType;
  /** The other fields of a call whose body is octets. */
  readonly config: string | undefined;
}

/** One call from the bytes of its body to the bytes of its answer; throws what the caller did wrong. */
export async function runOperation(call: Call, body: ByteSource, context: OperationContext): Promise<WrittenAnswer> {
  const { operation, bodyType, config } = call;
  // Before the body is read: it may be long, and nobody would look at it.
  const known = operation === "call" ? undefined : findRun(operation, context);
  // Only an aggregate has a list, so what takes the list is known before the method is.
  const intake = functionRun("aggregate") ? createRawIntake() : context.intake;
  const fields = readCallBody(body, { bodyType, config, list: operation === "aggregate", intake });
  refuseClosedRound(fields, context.closedRounds);
  const run = known ?? findRun(methodOf(fields), context);
  return writeAnswer(await run(fields, context), call.answerType);
}

/** Work on a dataset that may have to come from another machine first. */
function withFetched(run: Run): Run {
  return async (fields, context) => {
    const { dataset } = fields as { dataset?: unknown };
    const fetched = await fetchUri(dataset, context.data, context.signal);
    return run(fields, { ...context, data: { ...context.data, fetched } });
  };
}

/** What is registered goes before what is built in. */
function findRun(operation: Exclude<Operation, "call">, { builtins }: OperationContext): Run {
  const run = functionRun(operation) ?? (builtins ? BUILT_IN[operation] : undefined);
  if (run) return run;
  throw new TrainerError("NOT_REGISTERED", `No ${operation} function is registered here.`, {
    details: { operation, registered: registeredNames() },
  });
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
  throw new TrainerError("ROUND_CLOSED", `Round ${String(round).slice(0, 100)} is closed; its work is not taken any more.`, {
    details: { round_id: round },
  });
}
