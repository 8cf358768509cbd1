import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { type ChatRequest, parseChatRequest } from "../../schemas/calls/chat.ts";
import type { MessageObject } from "../../schemas/stored/assistant-answers.ts";
import type { ChatMessage } from "../../upstream/providers/provider.ts";
import { teamFiles } from "../files/team-files.ts";
import type { RecordStore } from "../records/records.ts";
import type { FileSearchDeps } from "../responses/tools/file-search-tool.ts";
import type { RunBody } from "./bodies.ts";
import { type FileSearch, openFileSearch } from "./file-search.ts";
import { fitMessages } from "./fit-messages.ts";
import { chatFields, chatMessage, frameOf } from "./prompt.ts";

/** What a prompt is made with. */
export interface PromptDeps extends FileSearchDeps {
  /** Tokens of a conversation, counted as the model does. */
  readonly countTokens: (model: string, countable: { messages: readonly ChatMessage[]; tools?: readonly unknown[] }) => Promise<number>;
  /** The context window of a model in tokens; undefined if unknown. */
  readonly contextWindow: (model: string, caller: Caller) => number | undefined;
}

/** The next model call of a run. */
export interface ModelPrompt {
  readonly request: ChatRequest;
  readonly fileSearch: FileSearch | undefined;
}

const PAGE = 100;
/** The most messages of a thread that are sent. */
const MESSAGES_MAX = 1000;
/** The share of a context window that the prompt may use; the rest is for the answer. */
const PROMPT_SHARE = 0.75;

/** The next model call; undefined if the prompt does not fit the run's `max_prompt_tokens`. */
export async function modelPrompt(
  deps: PromptDeps,
  { caller, body, signal }: { caller: Caller; body: RunBody; signal: AbortSignal },
): Promise<ModelPrompt | undefined> {
  const { run } = body;
  const { teamId } = caller;
  const files = teamFiles(deps.records, teamId);
  const thread = await newestMessages(deps.records, { teamId, body });
  const fileSearch = await openFileSearch(deps, body, { caller, signal });
  const fields = chatFields(body, fileSearch);
  const { before, after } = frameOf(body);
  const messages = await Promise.all(thread.map((message) => chatMessage(message, files.readImage)));
  const tools = fields["tools"] as readonly unknown[] | undefined;
  const toolTokens = tools ? await deps.countTokens(run.model, { messages: [], tools }) : 0;
  const { fitting, fits } = await fitMessages({
    before,
    after,
    messages,
    budget: budgetOf(body, deps.contextWindow(run.model, caller)) - toolTokens,
    count: (counted) => deps.countTokens(run.model, { messages: counted }),
  });
  if (!fits && run.max_prompt_tokens !== null) return undefined;
  return { request: parseChatRequest({ ...fields, messages: [...before, ...fitting, ...after] }), fileSearch };
}

/** The run's limit applies to all its calls together; the model's context window to each call. */
function budgetOf({ run, used }: RunBody, window: number | undefined): number {
  const own = run.max_prompt_tokens === null ? Number.POSITIVE_INFINITY : run.max_prompt_tokens - used.prompt;
  return Math.min(own, window === undefined ? Number.POSITIVE_INFINITY : Math.floor(window * PROMPT_SHARE));
}

/** Oldest first, without the messages of this run, which are in its turns. */
async function newestMessages(
  records: RecordStore,
  { teamId, body: { run } }: { teamId: string; body: RunBody },
): Promise<MessageObject[]> {
  const countMax = Math.min(run.truncation_strategy.last_messages ?? MESSAGES_MAX, MESSAGES_MAX);
  const newest: MessageObject[] = [];
  for (let after: string | undefined; newest.length < countMax; ) {
    const query = { parentId: run.thread_id, order: "desc", limit: PAGE, after } as const;
    const page = await records.list<MessageObject>(teamId, "message", query);
    newest.push(...page.records.map(({ body }) => body).filter(({ run_id: runId }) => runId !== run.id));
    after = page.records.at(-1)?.id;
    if (!page.hasMore) break;
  }
  return newest.slice(0, countMax).reverse();
}
