import type { OwnStrategy } from "../../../common/strategies/shared/own-strategy.ts";
import type { Properties } from "../../../common/training/selection-settings.ts";
import { runStrategy, type StrategyLimits, StrategyProblem } from "./strategy-process.ts";

/** A participant as a selection function gets it. */
export interface Candidate {
  readonly id: string;
  readonly properties: Properties;
}

export interface SelectionCall {
  readonly own: OwnStrategy;
  readonly candidates: readonly Candidate[];
  readonly round: number;
  /** How many the federation's settings ask for; the function may return another number. */
  readonly count: number;
}

/** Selects the participants of a round with an own function, and returns their ids. Throws StrategyProblem with a text for the federation's owner. */
export type OwnSelection = (call: SelectionCall, signal: AbortSignal) => Promise<string[]>;

export function createOwnSelection({ allowed, ...limits }: StrategyLimits & { readonly allowed: boolean }): OwnSelection {
  return async ({ own, candidates, round, count }, signal) => {
    if (!allowed) throw new StrategyProblem("the operator of this coordinator does not allow own strategies (OWN_STRATEGIES)");
    const header = { participants: candidates, round, count };
    const [answer] = await runStrategy({ own, header, blobs: nothing() }, limits, signal);
    const selected = readSelected(answer);
    const known = new Set(candidates.map(({ id }) => id));
    if (!Array.isArray(selected) || selected.length === 0) throw new StrategyProblem("it must return a list of at least one id");
    const unknown = selected.find((id) => !known.has(id));
    if (unknown !== undefined) throw new StrategyProblem(`it returned ${JSON.stringify(unknown)}, which is not the id of a participant`);
    return [...new Set(selected as string[])];
  };
}

/** The same selection, which answers a call that is equal to the one before it without running the function. */
export function keepingLast(select: OwnSelection): OwnSelection {
  let last: { readonly call: string; readonly selected: string[] } | undefined;
  return async (call, signal) => {
    const { candidates, round, count } = call;
    const asked = JSON.stringify([round, count, candidates]);
    if (last?.call !== asked) last = { call: asked, selected: await select(call, signal) };
    return last.selected;
  };
}

/** What the function returned. Some values, such as NaN in Python or a function in TypeScript, have no JSON. */
function readSelected(answer: Uint8Array = new Uint8Array()): unknown {
  try {
    return JSON.parse(Buffer.from(answer).toString("utf8"));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new StrategyProblem("it must return a list of ids");
    throw thrown;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
