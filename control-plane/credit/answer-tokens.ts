import { limitName } from "../../common/slots.ts";
import type { UsageRow } from "../domain/records.ts";

/** Tokens of answers, and what they count under. */
export interface AnswerTokens {
  /** The names of the limits of who called. */
  readonly names: readonly string[];
  readonly model: string;
  /** Of one of the calls. */
  readonly deploymentId: string;
  readonly tokens: number;
}

/** A call as it was admitted. */
interface Admitted {
  readonly tokens: number;
  /** The name under which limits count the model. */
  readonly model: string;
}

export type AdmittedAs = (callId: string) => Admitted | undefined;

/**
 * The tokens of settled calls that were not counted when the calls were admitted: those of the answers, and of prompts that the provider counts
 * higher than their estimates, where those are known. Most rows of a batch have the same key and model, and are counted together.
 */
export function answerTokens(rows: readonly UsageRow[], admittedAs: AdmittedAs): AnswerTokens[] {
  const found: AnswerTokens[] = [];
  let [first, model, tokens] = [rows[0], "", 0];
  const add = () => {
    if (first && tokens > 0) found.push({ names: namesOf(first), model, deploymentId: first.deploymentId, tokens });
  };
  for (const row of rows) {
    const admitted = admittedAs(row.id);
    const counted = admitted?.model ?? row.model;
    if (row.apiKeyId !== first?.apiKeyId || counted !== model) {
      add();
      [first, model, tokens] = [row, counted, 0];
    }
    const { input, output } = row.usage;
    tokens += output + Math.max(0, input - (admitted?.tokens ?? input));
  }
  add();
  return found;
}

function namesOf({ apiKeyId, teamId, organizationId, userId }: UsageRow): string[] {
  const named = [
    { kind: "key", id: apiKeyId },
    { kind: "team", id: teamId },
    { kind: "organization", id: organizationId },
    ...(userId === undefined ? [] : [{ kind: "user", id: String(userId) }]),
  ];
  return named.map(limitName);
}
