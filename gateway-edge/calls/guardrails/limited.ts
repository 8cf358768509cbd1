import type { Logger } from "../../../common/logger.ts";
import type { Guardrail, Verdict } from "./guardrail.ts";
import { inTime } from "./in-time.ts";

/** How much of the thread's time a guardrail may use for all texts of one check. */
const CHECK_MS_MAX = 50;

/** A guardrail with a check that answers at once, under a time limit: texts that take it longer are blocked. */
export function limited(guardrail: Guardrail, logger: Logger): Guardrail {
  const subject = guardrail.kind === "regex" ? "a pattern" : "the schema";
  let isLogged = false;
  const check: Guardrail["check"] = (texts, context) => {
    const checked = inTime(CHECK_MS_MAX, () => guardrail.check(texts, context));
    if (checked) return checked.result;
    if (!isLogged) {
      const { name } = guardrail;
      const advice = guardrail.kind === "regex" ? "avoid nested repetitions" : "make it simpler";
      logger.warn({ guardrail: name }, `${subject} of a guardrail takes too long, and calls are blocked for it; ${advice}`);
    }
    isLogged = true;
    return { action: "block", reason: `${subject} of the guardrail took too long on it` } satisfies Verdict;
  };
  return { ...guardrail, check };
}
