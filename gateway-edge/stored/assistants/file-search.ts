import { pause } from "../../../common/clock.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { RequestedCall, RunObject, SearchCall } from "../../schemas/stored/assistant-answers.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asFields, asList } from "../../upstream/providers/shared/json-fields.ts";
import { type FileSearchDeps, fileSearchTool } from "../responses/tools/file-search-tool.ts";
import { FunctionNames, type ToolContext } from "../responses/tools/gateway-tool.ts";
import { requireStore } from "../vector-stores/stored-files.ts";
import type { RunBody } from "./bodies.ts";

/** The vector stores that a run may search, as a tool that the gateway itself executes. */
export interface FileSearch {
  /** The name of the tool in the model call; differs from all functions of the caller. */
  readonly toolName: string;
  readonly tool: Fields;
  /** Searches; every search is a paid call of the stores' embedding models. */
  run(call: RequestedCall, context: Omit<ToolContext, "onBill">): Promise<Searched>;
}

/** The results of a search for the run step, and as text for the model. */
export interface Searched {
  readonly call: SearchCall;
  readonly output: string;
}

/** The result of a call beyond the limit of searches. */
export function notSearched(id: string): Searched {
  const ranking = { ranker: "auto", score_threshold: 0 };
  return {
    call: { id, type: "file_search", file_search: { ranking_options: ranking, results: [] } },
    output: "Not run: the limit of searches is reached.",
  };
}

const RESULTS_DEFAULT = 20;
/** How long a run waits for files that are being indexed; then it searches the others. */
const INDEXED_WITHIN_MS = 60_000;
const [POLL_MS, POLL_MS_MAX] = [50, 1000];

/** Undefined if the run does not have the tool, or if neither its assistant nor its thread has a vector store. */
export async function openFileSearch(
  deps: FileSearchDeps,
  { run, vectorStoreIds = [] }: Pick<RunBody, "run" | "vectorStoreIds">,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
): Promise<FileSearch | undefined> {
  const wanted = run.tools.find((tool) => tool.type === "file_search");
  if (wanted?.type !== "file_search" || vectorStoreIds.length === 0) return undefined;
  await indexed(deps, vectorStoreIds, { teamId: caller.teamId, signal });
  const { max_num_results: limit, ranking_options: ranking } = wanted.file_search ?? {};
  const options = { max_num_results: limit ?? RESULTS_DEFAULT, ...(ranking ? { ranking_options: ranking } : {}) };
  const tool = await fileSearchTool(deps, {
    tool: { type: "file_search", vector_store_ids: vectorStoreIds, ...options },
    where: "tool_resources.file_search",
    caller,
    names: functionNames(run),
  });
  const { type, ...offered } = tool.offered;
  const shown = { ranker: ranking?.ranker ?? "auto", score_threshold: ranking?.score_threshold ?? 0 };
  return {
    toolName: tool.name,
    tool: { type, function: offered },
    run: async ({ id, function: { arguments: text } }, context) => {
      // The bill of each embedding call is its own entry in the log: a run has no cost of its own.
      const { item, output } = await tool.run(text, { ...context, onBill: () => {} });
      return { call: { id, type: "file_search", file_search: { ranking_options: shown, results: resultsOf(item) } }, output };
    },
  };
}

function functionNames({ tools }: RunObject): FunctionNames {
  return new FunctionNames(tools.map((tool) => (tool.type === "function" ? tool.function.name : "")));
}

function resultsOf(item: Fields): SearchCall["file_search"]["results"] {
  return asList(item["results"])
    .map(asFields)
    .map(({ file_id: id, filename, score, text }) => ({
      ...{ file_id: String(id), file_name: String(filename), score: Number(score) },
      content: [{ type: "text", text: String(text) }],
    }));
}

async function indexed(
  deps: FileSearchDeps,
  storeIds: readonly string[],
  { teamId, signal }: { teamId: string; signal: AbortSignal },
): Promise<void> {
  const untilMs = deps.clock.now() + INDEXED_WITHIN_MS;
  for (const id of storeIds) {
    for (let delayMs = POLL_MS; deps.clock.now() < untilMs; delayMs = Math.min(delayMs * 2, POLL_MS_MAX)) {
      signal.throwIfAborted();
      const { body: store } = await requireStore(deps, teamId, id);
      if (store.file_counts.in_progress === 0) break;
      await pause(deps.clock, delayMs, signal);
    }
  }
}
