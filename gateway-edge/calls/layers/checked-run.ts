import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import { nanoUsd } from "../../../common/money.ts";
import type { Random } from "../../../common/random.ts";
import type { ChatAnswer, Fields } from "../../upstream/providers/provider.ts";
import type { Bill } from "../inference/bill.ts";
import type { InferenceResult } from "../inference/inference-call.ts";
import type { LayeredCall, RunCall } from "../inference/run-call.ts";
import { isFields } from "../inference/traits/message-texts.ts";
import type { AnswerCheck, SchemaChecks } from "../schema-checks/schema-checks.ts";

export interface CheckedRunDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly schemas: Pick<SchemaChecks, "prepare">;
  /** Whether the operator wants every schema checked, not only strict ones. */
  readonly checksAll: () => boolean;
}

/**
 * The layer that validates a whole chat answer against the caller's JSON schema. An invalid answer is requested once more, as a separate
 * call: both used tokens, so both are billed and logged. An answer whose check does not end in time is not: the next one would be no quicker.
 */
export function checkedRun(deps: CheckedRunDeps, run: RunCall): RunCall {
  return (call) => {
    const schema = strictSchema(deps, call);
    return schema ? runChecked(deps, run, { call, schema }) : run(call);
  };
}

async function runChecked<Answer>(
  deps: CheckedRunDeps,
  run: RunCall,
  { call, schema }: { call: LayeredCall<Answer>; schema: Fields },
): Promise<InferenceResult<Answer>> {
  const { caller, signal } = call;
  const check = await deps.schemas.prepare(schema, { organizationId: caller.organizationId, signal });
  let spent: Bill | undefined;
  let isUnchecked = false;
  const checked: typeof call = {
    ...call,
    review: async (answer, bill) => {
      const error = await problemOf(check, answer as ChatAnswer);
      if (!error) return call.review ? call.review(answer, bill) : answer;
      spent = bill;
      isUnchecked = error.isUnchecked;
      throw error.thrown;
    },
  };
  try {
    return await run(checked);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "JSON_SCHEMA_VALIDATION" || isUnchecked || signal.aborted) throw error;
  }
  const first = spent;
  const logTags = [...(call.job.logTags ?? []), `retry-of:${call.callId}`];
  // Work that is charged once is charged once for each of the two.
  const onceFor = call.onceFor && `${call.onceFor}/again`;
  const again = await run({ ...checked, callId: newId("call", deps), onceFor, job: { ...call.job, logTags } });
  return again.type === "answer" && first ? { ...again, bill: { ...again.bill, cost: nanoUsd(first.cost + again.bill.cost) } } : again;
}

function strictSchema<Answer>(deps: CheckedRunDeps, { job }: LayeredCall<Answer>): Fields | undefined {
  if (job.operation !== "chat" || job.stream) return undefined;
  const format = job.traits?.().request["response_format"];
  const asked = isFields(format) && format["type"] === "json_schema" && isFields(format["json_schema"]) ? format["json_schema"] : undefined;
  const schema = asked?.["schema"];
  return isFields(schema) && (asked?.["strict"] === true || deps.checksAll()) ? schema : undefined;
}

async function problemOf(check: AnswerCheck, { choices }: ChatAnswer): Promise<{ thrown: AppError; isUnchecked: boolean } | undefined> {
  const checked = await check(choices.flatMap((choice) => textToCheck(choice)));
  if (checked.type === "fits") return undefined;
  const isUnchecked = checked.type === "unchecked";
  const problem = isUnchecked
    ? `could not be checked against the JSON schema of the request: ${checked.reason}`
    : `does not match the JSON schema of the request: ${checked.problem}`;
  return { thrown: new AppError("JSON_SCHEMA_VALIDATION", `The model's answer ${problem}.`), isUnchecked };
}

/** A refusal, a tool call and a truncated text need not match the schema. */
function textToCheck({ message, finishReason }: { message: Fields; finishReason: string }): string[] {
  const { content, refusal, tool_calls: calls } = message;
  if (finishReason === "length" || finishReason === "content_filter" || typeof refusal === "string" || calls !== undefined) return [];
  return [typeof content === "string" ? content : ""];
}
