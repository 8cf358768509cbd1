import { z } from "zod";
import { AppError, asAppError } from "../../../../common/errors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { markerOf } from "../../../calls/dialects/file-citations.ts";
import { storeSearch, type VectorStoreObject } from "../../../schemas/stored/vector-stores.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { ownerOf } from "../../records/own-record.ts";
import type { EmbedDeps } from "../../vector-stores/embed.ts";
import { searchStore } from "../../vector-stores/search.ts";
import { noteUse, requireStore, type StoredDeps } from "../../vector-stores/stored-files.ts";
import { type FunctionNames, type GatewayTool, OUTPUT_LENGTH_MAX, type ToolContext, type ToolResult } from "./gateway-tool.ts";

export type FileSearchDeps = StoredDeps & EmbedDeps;

const STORES_MAX = 5;
const RESULTS_DEFAULT = 10;
const QUERY_LENGTH_MAX = 4096;
/** Errors after which the model could not be asked either. */
const ENDING: ReadonlySet<string> = new Set(["QUOTA_EXCEEDED", "TEAM_BLOCKED"]);

const { filters, max_num_results, ranking_options } = storeSearch.shape;
const fileSearch = z.looseObject({
  type: z.literal("file_search"),
  vector_store_ids: z.array(z.string().max(128)).min(1).max(STORES_MAX, `must have at most ${STORES_MAX} vector stores`),
  filters,
  max_num_results,
  ranking_options,
});
type Wanted = z.output<typeof fileSearch>;

/** `file_search` over vector stores of the caller's team. Every search is a paid call of the stores' embedding models. */
export async function fileSearchTool(
  deps: FileSearchDeps,
  { tool, where, caller, names }: { tool: Fields; where: string; caller: Caller; names: FunctionNames },
): Promise<GatewayTool> {
  const parsed = fileSearch.safeParse(tool);
  if (!parsed.success) throw invalid(parsed.error, where);
  const wanted = parsed.data;
  await Promise.all(wanted.vector_store_ids.map((id) => requireStore(deps, caller.teamId, id)));
  const name = names.free("file_search");
  return {
    name,
    offered: offered(name),
    isChosenBy: ({ type }) => type === "file_search",
    run: (argumentsText, context) => search(deps, wanted, queryOf(argumentsText), context),
  };
}

function invalid({ issues }: z.ZodError, where: string): AppError {
  const [issue] = issues;
  const param = [where, ...(issue?.path ?? []).map(String)].join(".");
  return new AppError("INVALID_REQUEST", `${param}: ${issue?.message ?? "is not valid"}`, { param });
}

function offered(name: string): Fields {
  const query = { type: "string", description: "What to look for." };
  return {
    ...{ type: "function", name, parameters: { type: "object", properties: { query }, required: ["query"] } },
    description: `Searches the user's files and returns the passages that match best, each with a marker such as ${markerOf(0)}. Put the marker behind what you take from a passage.`,
  };
}

/** A failure is a result that the model reads, unless nothing more can be done for the caller. */
async function search(deps: FileSearchDeps, wanted: Wanted, query: string, context: ToolContext): Promise<ToolResult> {
  try {
    return await searched(deps, wanted, query, context);
  } catch (thrown) {
    const { code, message } = asAppError(thrown);
    if (context.signal.aborted || ENDING.has(code)) throw thrown;
    const item = { type: "file_search_call", status: "failed", queries: [query], results: [] };
    return { item, output: `The search failed: ${message}` };
  }
}

async function searched(deps: FileSearchDeps, wanted: Wanted, query: string, context: ToolContext): Promise<ToolResult> {
  const { caller, signal, onceFor, onBill } = context;
  const limit = wanted.max_num_results ?? RESULTS_DEFAULT;
  const asked = { queries: [query], filter: wanted.filters ?? undefined, limit, threshold: wanted.ranking_options?.score_threshold ?? 0 };
  const found: Awaited<ReturnType<typeof searchStore>> = [];
  // One after the other: a store's index may be large.
  for (const id of new Set(wanted.vector_store_ids)) {
    const { body: store }: { body: VectorStoreObject } = await requireStore(deps, caller.teamId, id);
    const once = onceFor === undefined ? {} : { onceFor: `${onceFor}/${id}` };
    found.push(...(await searchStore(deps, { caller, store, signal, onBill, ...once }, asked)));
    await noteUse(deps, ownerOf(caller), store);
  }
  const best = found.sort((one, other) => other.score - one.score).slice(0, limit);
  const results = best.map(({ content, ...rest }) => ({ ...rest, text: content.map(({ text }) => text).join("\n") }));
  return { item: { type: "file_search_call", status: "completed", queries: [query], results }, output: outputOf(results) };
}

function outputOf(results: readonly { filename: string; text: string }[]): string {
  if (results.length === 0) return "Nothing was found.";
  return results
    .map(({ filename, text }, index) => `${markerOf(index)} ${filename}\n${text}`)
    .join("\n\n")
    .slice(0, OUTPUT_LENGTH_MAX);
}

/** A model may write arguments that are not JSON: then the whole text is the query. */
function queryOf(argumentsText: string): string {
  let query: unknown;
  try {
    query = (JSON.parse(argumentsText) as { query?: unknown } | null)?.query;
  } catch {
    query = argumentsText;
  }
  return (typeof query === "string" && query !== "" ? query : argumentsText || " ").slice(0, QUERY_LENGTH_MAX);
}
