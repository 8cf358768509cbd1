import type { TokenCounter } from "../providers/provider.ts";
import type { Served } from "./call-row.ts";
import type { TextCounter } from "./counted-text.ts";
import { roughCounter } from "./tokens.ts";

/** How the text of an answer is counted: as its provider counts where that is known here, else roughly. */
export function textCounterOf(served: Served | undefined): TextCounter {
  return ownCounter(served?.provider.counter ?? roughCounter);
}

/** A provider's own way of counting: exact at once. */
export function ownCounter({ countText }: TokenCounter): TextCounter {
  return { isReady: () => true, countNow: countText, count: countText };
}
