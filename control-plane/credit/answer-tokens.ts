import { limitName } from "../../common/slots.ts";
import type { UsageRow } from "../domain/records.ts";

/** Tokens of answers, and the names of the limits that they count under. */
export interface AnswerTokens {
  readonly names: readonly string[];
  readonly tokens: number;
}

/**
 * The tokens of settled calls that were not counted when the calls were admitted: those of the answers, and of prompts that the provider counts
 * higher than their estimates, where those are known. Most rows of a batch have the same key and model, and are counted together.
 */
export function answerTokens(rows: readonly UsageRow[], admittedAs: (callId: string) => number | undefined): AnswerTokens[] {
  const found: AnswerTokens[] = [];
  let [first, tokens] = [rows[0], 0];
  for (const row of rows) {
    if (first && (row.apiKeyId !== first.apiKeyId || row.model !== first.model)) {
      if (tokens > 0) found.push({ names: namesOf(first), tokens });
      [first, tokens] = [row, 0];
    }
    const { input, output } = row.usage;
    tokens += output + Math.max(0, input - (admittedAs(row.id) ?? input));
  }
  if (first && tokens > 0) found.push({ names: namesOf(first), tokens });
  return found;
}

function namesOf({ apiKeyId, teamId, organizationId, userId, model }: UsageRow): string[] {
  const named = [
    { kind: "key", id: apiKeyId },
    { kind: "team", id: teamId },
    { kind: "organization", id: organizationId },
    { kind: "model", id: model },
    ...(userId === undefined ? [] : [{ kind: "user", id: String(userId) }]),
  ];
  return named.map(limitName);
}
