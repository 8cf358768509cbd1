import { AppError } from "../../../common/errors.ts";
import type { Findings } from "./findings.ts";
import type { Guardrail, GuardrailContext, Stage } from "./guardrail.ts";

/** Runs texts through guardrails, one after the other. Throws CONTENT_POLICY_VIOLATION when one blocks. */
export async function applyGuardrails(
  guardrails: readonly Guardrail[],
  texts: readonly string[],
  { context, findings }: { context: GuardrailContext; findings: Findings },
): Promise<readonly string[]> {
  let current = texts;
  for (const guardrail of guardrails) {
    const verdict = await guardrail.check(current, context);
    if (verdict.action === "allow") continue;
    const { stage, callId } = context;
    findings.note({ guardrail: guardrail.name, stage, callId, action: verdict.action === "block" ? "blocked" : "masked" });
    if (verdict.action === "block") throw blocked(guardrail.name, stage, verdict.reason);
    current = verdict.texts;
  }
  return current;
}

function blocked(name: string, stage: Stage, reason: string): AppError {
  const subject = stage === "pre" ? "request" : "answer";
  return new AppError("CONTENT_POLICY_VIOLATION", `The guardrail ${name} blocked the ${subject}: ${reason}.`);
}

/** The guardrails of a stage. After the call they run in reverse, so that what was masked first is restored last. */
export function atStage(guardrails: readonly Guardrail[], stage: Stage): Guardrail[] {
  const own = guardrails.filter((guardrail) => guardrail.stage === stage || guardrail.stage === "both");
  return stage === "pre" ? own : own.toReversed();
}
