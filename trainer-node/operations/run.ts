import { InputProblem } from "../compute/problem.ts";
import type { Operation } from "../pool/messages.ts";
import type { ByteSource } from "../stream/byte-source.ts";
import { aggregate } from "./aggregate.ts";
import { type OperationAnswer, type WrittenAnswer, writeAnswer } from "./answer.ts";
import { type BodyType, readCallBody } from "./call-body.ts";
import { evaluate } from "./evaluate.ts";
import type { OperationContext } from "./participant.ts";
import { predict } from "./predict.ts";
import { train } from "./train.ts";

type Run = (fields: object, context: OperationContext) => OperationAnswer;

const OPERATIONS: Readonly<Record<Operation, Run>> = {
  train,
  evaluate,
  aggregate,
  predict,
  /** The second generation of the protocol: one route, and the operation in the body. */
  call: (fields, context) => methodOf(fields)(fields, context),
};
const METHODS: Readonly<Record<string, Run>> = { train, evaluate, aggregate };

export interface Call {
  readonly operation: Operation;
  readonly bodyType: BodyType;
  readonly answerType: BodyType;
  /** The other fields of a call whose body is octets. */
  readonly config: string | undefined;
}

/** One call from the bytes of its body to the bytes of its answer; throws what the caller did wrong. */
export function runOperation(call: Call, body: ByteSource, context: OperationContext): WrittenAnswer {
  const { operation, bodyType, config } = call;
  const fields = readCallBody(body, { bodyType, config, list: operation === "aggregate", intake: context.intake });
  return writeAnswer(OPERATIONS[operation](fields, context), call.answerType);
}

function methodOf(fields: object): Run {
  const { method } = fields as { method?: unknown };
  const run = typeof method === "string" && Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (!run) throw new InputProblem("VALIDATION_ERROR", `method must be one of: ${Object.keys(METHODS).join(", ")}`, { field: "method" });
  return run;
}
