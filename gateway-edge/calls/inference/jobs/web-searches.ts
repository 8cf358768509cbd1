import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList } from "../../../upstream/providers/shared/json-fields.ts";

/** The searches that are reserved for where the caller sets no limit. */
const SEARCHES_USUAL = 10;

/** The most web searches that Anthropic may run for a request; undefined: none. */
export function webSearchesOf({ tools }: Fields): number | undefined {
  if (tools === undefined) return undefined;
  const searching = asList(tools)
    .map(asFields)
    .filter(({ type }) => typeof type === "string" && /^web_search_\d/.test(type));
  if (searching.length === 0) return undefined;
  return searching.reduce((sum, { max_uses: most }) => sum + (Number.isSafeInteger(most) ? Math.max(0, Number(most)) : SEARCHES_USUAL), 0);
}
