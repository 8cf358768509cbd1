import { parentPort } from "node:worker_threads";
import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { inTime } from "../guardrails/in-time.ts";
import type { CheckReply, CheckTask } from "./check-task.ts";
import { compileSchema, loadAjv, type SchemaCheck } from "./compile-schema.ts";

/** The thread that compiles and checks what could take long. What ends the work of a task leaves the thread, and what it has compiled, as it is. */

/** Of the thread's time. The largest schemas that are accepted take a fifth of it. */
const COMPILE_MS_MAX = 500;
const CHECK_MS_MAX = 250;

// Before there is a time limit, which would end it half loaded.
loadAjv();
parentPort?.on("message", (task: CheckTask) => parentPort?.postMessage(replyTo(task)));

function replyTo({ schema, texts }: CheckTask): CheckReply {
  try {
    const compiled = inTime(COMPILE_MS_MAX, () => compileSchema({ text: schema, schema: JSON.parse(schema) as Fields }));
    if (!compiled) return { type: "slow", step: "schema" };
    const checked = inTime(CHECK_MS_MAX, () => problemOf(texts, compiled.result));
    return checked ? { type: "checked", problem: checked.result } : { type: "slow", step: "texts" };
  } catch (error) {
    return error instanceof AppError ? { type: "invalid", message: error.message } : { type: "failed", reason: String(error) };
  }
}

function problemOf(texts: readonly string[], check: SchemaCheck): string | undefined {
  for (const text of texts) {
    const problem = check(text);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
