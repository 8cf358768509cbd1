import { finalOf, intentOf } from "../../../gateway-edge/credit/journal/journal-fixture.ts";
import type { Intent } from "../../../gateway-edge/credit/journal/records.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";

const INPUT_TOKENS = 100;
/** Nano-USD a token, as the journal's fixture prices them. */
const INPUT_PRICE = 150n;
const OUTPUT_PRICE = 600n;

/** One call as the world outside saw it. */
export interface SimCall {
  readonly id: string;
  readonly index: number;
  readonly organizationId: string;
  /** The life of the edge that it came to. */
  readonly edgeId: string;
  readonly maxTokens: number;
  readonly worstCase: bigint;
  readonly stream: boolean;
  readonly isLimited: boolean;
  admitted: boolean;
  refusedWith: string | undefined;
  reserved: bigint;
  /** Of the lease it was made under; 0: a control plane reserved it by itself. */
  generation: bigint;
  /** Tokens that the client has. */
  delivered: number;
  /** The delivered tokens of each progress note. */
  readonly notedTokens: number[];
  /** The cost in its final record, once the edge has it. */
  finalCost: bigint | undefined;
  /** The client has its last byte. */
  acknowledged: boolean;
  /** What its edge died of while it ran, or before its end was safe. */
  cutBy: "kill" | "power" | undefined;
  /** The disk was full while it ran: progress was not written. */
  troubled: boolean;
}

export function costOf(tokens: number): bigint {
  return BigInt(INPUT_TOKENS) * INPUT_PRICE + BigInt(tokens) * OUTPUT_PRICE;
}

/** As the gateway limits a call that found less than its worst case: what is left pays for so many tokens, one at least. */
export function tokensWithin(call: SimCall): number {
  if (call.reserved >= call.worstCase) return call.maxTokens;
  const left = (call.reserved - BigInt(INPUT_TOKENS) * INPUT_PRICE) / OUTPUT_PRICE;
  return Math.max(1, Math.min(call.maxTokens, Number(left)));
}

export function intentFor({ index, organizationId, worstCase, stream }: SimCall): Intent {
  return { ...intentOf(index), organizationId, teamId: teamOf(organizationId), worstCase, stream };
}

export function finalFor(
  { index, organizationId, stream }: SimCall,
  outcome: { tokens: number; status: "success" | "cancelled" | "error" },
): UsageLog {
  const row = { ...finalOf(index, outcome.tokens), organizationId, teamId: teamOf(organizationId), stream, status: outcome.status };
  if (outcome.status === "error" || outcome.tokens === 0) return { ...row, usage: NOTHING, cost: 0n };
  return { ...row, cost: costOf(outcome.tokens) };
}

export const teamOf = (organizationId: string) => `team_of_${organizationId}`;

const NOTHING = { input: 0n, cachedInput: 0n, cacheWrite: 0n, output: 0n, reasoning: 0n, audio: 0n, total: 0n, source: "estimated" };
