import type { Clock } from "../../../common/clock.ts";
import type { Stage } from "./guardrail.ts";

export type GuardrailFigures = Record<string, { blocked: number; masked: number }>;

/** What a guardrail decided. Has the call's id, never its text. */
export interface Finding {
  readonly atMs: number;
  readonly guardrail: string;
  readonly stage: Stage;
  readonly action: "blocked" | "masked";
  readonly callId: string;
}

/** What the guardrails of this process found since its start: all are counted, the newest are stored. */
export interface Findings {
  note(finding: Omit<Finding, "atMs">): void;
  readonly figures: GuardrailFigures;
  /** Newest first. */
  recent(): readonly Finding[];
}

const RECENT_MAX = 50;

export function createFindings(clock: Clock): Findings {
  const figures: GuardrailFigures = {};
  const recent: Finding[] = [];
  return {
    note(finding) {
      const counts = figures[finding.guardrail] ?? { blocked: 0, masked: 0 };
      counts[finding.action]++;
      figures[finding.guardrail] = counts;
      recent.unshift({ atMs: clock.now(), ...finding });
      if (recent.length > RECENT_MAX) recent.pop();
    },
    figures,
    recent: () => [...recent],
  };
}
