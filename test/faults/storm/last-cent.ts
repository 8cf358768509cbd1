import { openArena, refusalsOf } from "./arena.ts";
import type { Verdict } from "./checker.ts";

export interface LastCentReport extends Verdict {
  readonly balanceNano: number;
  /** The balance may not be below it: so many edges, one call each. */
  readonly boundNano: number;
  readonly admitted: number;
  readonly refusals: Readonly<Record<string, number>>;
}

const CREDIT_NANO = 10_000_000;
const WORDS = 400;

/** Many long calls at once on a balance of one cent, over several edges: how far below zero it ends. */
export async function lastCent({ edges, calls }: { edges: number; calls: number }): Promise<LastCentReport> {
  const arena = await openArena({ edges, creditNano: CREDIT_NANO });
  try {
    await Promise.all(
      Array.from({ length: calls }, (_, index) => arena.stream({ name: `c${index}`, words: WORDS, betweenMs: 5, maxTokens: WORDS })),
    );
    const { problems, figures, books } = await arena.audit();
    const dearest = Math.max(0, ...books.rows.map(({ cost }) => cost));
    const boundNano = -edges * dearest;
    const isBroken = books.balance < boundNano;
    return {
      figures,
      problems: [...problems, ...(isBroken ? [`the balance is ${books.balance}, the bound is ${boundNano}`] : [])],
      balanceNano: books.balance,
      boundNano,
      admitted: arena.clients.filter(({ status }) => status === 200).length,
      refusals: refusalsOf(arena.clients),
    };
  } finally {
    await arena.close();
  }
}
