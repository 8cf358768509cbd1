import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import { nanoUsd } from "../../../common/money.ts";
import type { Random } from "../../../common/random.ts";
import type { ChatAnswer, Fields } from "../../upstream/providers/provider.ts";
import { compileSchema } from "../guardrails/schema-check.ts";
import type { Bill } from "../inference/bill.ts";
import type { InferenceResult } from "../inference/inference-call.ts";
import type { LayeredCall, RunCall } from "../inference/run-call.ts";
import { isFields } from "../inference/traits/message-texts.ts";

export interface CheckedRunDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the operator wants every schema checked, not only strict ones. */
  readonly checksAll: () => boolean;
}

/**
 * The layer that validates a whole chat answer against the caller's JSON schema. An invalid answer is requested once more, as a separate
 * call: both used tokens, so both are billed and logged.
 */
export function checkedRun(deps: CheckedRunDeps, run: RunCall): RunCall {
  return (call) => {
    const check = answerCheck(deps, call);
    return check ? runChecked(deps, run, { call, check }) : run(call);
  };
}

type Check<Answer> = (answer: Answer) => string | undefined;

async function runChecked<Answer>(
  deps: CheckedRunDeps,
  run: RunCall,
  { call, check }: { call: LayeredCall<Answer>; check: Check<Answer> },
): Promise<InferenceResult<Answer>> {
  let spent: Bill | undefined;
  const checked: typeof call = {
    ...call,
    review: async (answer, bill) => {
      const problem = check(answer);
      if (problem !== undefined) {
        spent = bill;
        throw invalid(problem);
      }
      return call.review ? call.review(answer, bill) : answer;
    },
  };
  try {
    return await run(checked);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "JSON_SCHEMA_VALIDATION" || call.signal.aborted) throw error;
  }
  const first = spent;
  const logTags = [...(call.job.logTags ?? []), `retry-of:${call.callId}`];
  // Work that is charged once is charged once for each of the two.
  const onceFor = call.onceFor && `${call.onceFor}/again`;
  const again = await run({ ...checked, callId: newId("call", deps), onceFor, job: { ...call.job, logTags } });
  return again.type === "answer" && first ? { ...again, bill: { ...again.bill, cost: nanoUsd(first.cost + again.bill.cost) } } : again;
}

function answerCheck<Answer>(deps: CheckedRunDeps, { job }: LayeredCall<Answer>): Check<Answer> | undefined {
  if (job.operation !== "chat" || job.stream) return undefined;
  const format = job.traits?.().request["response_format"];
  const asked = isFields(format) && format["type"] === "json_schema" && isFields(format["json_schema"]) ? format["json_schema"] : undefined;
  const schema = asked?.["schema"];
  if (!isFields(schema) || (asked?.["strict"] !== true && !deps.checksAll())) return undefined;
  const check = compileSchema(schema);
  return (answer) => {
    const { choices } = answer as ChatAnswer;
    return choices
      .flatMap((choice) => textToCheck(choice))
      .map(check)
      .find((problem) => problem !== undefined);
  };
}

/** A refusal, a tool call and a truncated text need not match the schema. */
function textToCheck({ message, finishReason }: { message: Fields; finishReason: string }): string[] {
  const { content, refusal, tool_calls: calls } = message;
  if (finishReason === "length" || finishReason === "content_filter" || typeof refusal === "string" || calls !== undefined) return [];
  return [typeof content === "string" ? content : ""];
}

function invalid(problem: string): AppError {
  return new AppError("JSON_SCHEMA_VALIDATION", `The model's answer does not match the JSON schema of the request: ${problem}.`);
}
