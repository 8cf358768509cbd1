import type { Amounts, Fields } from "../provider.ts";
import { amountsOf, isCodeRun } from "./answer.ts";

/** What a stream shows of tools that Anthropic bills beside tokens; its usage, which has the same, comes at its end. */
export class StreamedFees {
  ranCode = false;
  #searches = 0;

  /** What was used up to this block, if it adds something. */
  take(block: Fields): Amounts | undefined {
    const isSearch = isSearchResult(block);
    const isFirstRun = !this.ranCode && isCodeRun(block);
    if (!isSearch && !isFirstRun) return undefined;
    this.#searches += isSearch ? 1 : 0;
    this.ranCode ||= isFirstRun;
    return amountsOf(this.#searches, this.ranCode);
  }
}

/** What a web search found. One that failed has an error in its place and costs nothing. */
function isSearchResult({ type, content }: Fields): boolean {
  return type === "web_search_tool_result" && Array.isArray(content);
}
