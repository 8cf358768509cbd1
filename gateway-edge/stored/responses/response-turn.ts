import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import { urlInItems } from "../../calls/dialects/document-urls.ts";
import { proxiedBody } from "../../calls/dialects/responses/proxied.ts";
import { inputItems, toChatRequest, toPlainChat } from "../../calls/dialects/responses/request.ts";
import type { Job } from "../../calls/inference/job.ts";
import { logTagsOf, tagsOf } from "../../calls/inference/jobs/gateway-fields.ts";
import { isSpokenByAny, type ProxiedAnswer } from "../../calls/inference/jobs/proxied.ts";
import { responsesJob, responsesSpeaker } from "../../calls/inference/jobs/responses.ts";
import { translatedChatJob } from "../../calls/inference/jobs/translated-chat.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import { namedContainers } from "../../upstream/providers/openai-compatible/response-usage.ts";
import type { ChatAnswer, Fields } from "../../upstream/providers/provider.ts";
import { claimStoredContainers, containersOfItems, type NamedContainer, requireContainers } from "../containers/own-containers.ts";
import { type InlineDeps, withFiles } from "../files/inline-files.ts";
import { ownerOf } from "../records/own-record.ts";
import { conversationIdOf, itemsOf, requireConversation, requireRoom } from "./conversations.ts";
import { namedInput } from "./input-items.ts";
import { conversationUpTo, resolveReferences, type StoredResponsesDeps } from "./stored-responses.ts";

export interface AskedTurn {
  readonly asked: ResponsesRequest;
  readonly caller: Caller;
  /** Part of the ids of the turn's items. */
  readonly suffix: string;
  /** The messages of the prompt. */
  readonly messages: readonly Fields[];
}

export interface ResponseTurn {
  /** The whole conversation, after the messages of the prompt. */
  readonly items: readonly Fields[];
  /** The items that this request adds. */
  readonly input: readonly Fields[];
}

export async function readTurn(deps: StoredResponsesDeps, { asked, caller, suffix, messages }: AskedTurn): Promise<ResponseTurn> {
  const given = inputItems(asked.input);
  await requireContainers(deps, caller, containersOf(asked, given));
  const before = await itemsBefore(deps, { asked, caller, added: given });
  const own = await resolveReferences(deps, caller, { items: given, before });
  const referenced = own.filter((item, index) => item !== given[index]);
  await claimStoredContainers(deps, ownerOf(caller), { items: referenced, param: "input" });
  const input = namedInput(own, suffix);
  return { items: [...messages, ...before, ...input], input };
}

/** The conversation as a model gets it. Stored items name files by their ids, also in later turns. */
export function itemsWithFiles(deps: InlineDeps, caller: Caller, { items, input }: ResponseTurn): Promise<readonly Fields[]> {
  const before = items.length - input.length;
  return withFiles(deps, caller, items, (index) => (index < before ? `conversation[${index}]` : `input[${index - before}]`));
}

/** Code also runs in the container of an earlier call, if the conversation has it. */
function containersOf({ tools }: ResponsesRequest, given: readonly Fields[]): NamedContainer[] {
  const inTools = (tools ?? []).flatMap((tool, index) => namedContainers(tool).map((id) => ({ id, param: `tools[${index}]` })));
  return [...inTools, ...containersOfItems(given, "input")];
}

interface Continued {
  readonly asked: ResponsesRequest;
  readonly caller: Caller;
  readonly added: readonly Fields[];
}

/** The stored items that a request continues from; their containers are the team's. */
export async function itemsBefore(deps: StoredResponsesDeps, { asked, caller, added }: Continued): Promise<readonly Fields[]> {
  const conversationId = conversationIdOf(asked);
  const items = await storedItems(deps, { asked, caller, added, conversationId });
  const param = conversationId === undefined ? "previous_response_id" : "conversation";
  await claimStoredContainers(deps, ownerOf(caller), { items, param });
  return items;
}

async function storedItems(
  deps: StoredResponsesDeps,
  { asked, caller, added, conversationId }: Continued & { conversationId: string | undefined },
): Promise<readonly Fields[]> {
  if (conversationId === undefined) return await conversationUpTo(deps, caller, asked.previous_response_id);
  requireRoom(await requireConversation(deps, caller, conversationId), added);
  return await itemsOf(deps, caller.teamId, conversationId);
}

/** Whether a model of the group is called through its own Responses API. */
export function isNative(
  { routing, providers }: Pick<Inference, "routing" | "providers">,
  { asked, caller }: Omit<JobInput, "items">,
): boolean {
  return isSpokenByAny(responsesSpeaker, providers, routing.candidates(asked.model, caller));
}

export interface JobInput {
  readonly asked: ResponsesRequest;
  readonly caller: Caller;
  readonly items: readonly Fields[];
  /** Ends what is done before the call. */
  readonly signal?: AbortSignal | undefined;
}

/** If a deployment's server speaks the Responses API, the request is passed through; otherwise it becomes a chat request. */
export function responseJob(inference: Pick<Inference, "routing" | "providers">, { asked, caller, items }: JobInput): Job<ProxiedAnswer> {
  const asChat = () => chatJobOf(asked, items);
  // The cast is safe: a chat job only gets answers that it parsed itself.
  if (!isNative(inference, { asked, caller })) return asChat() as unknown as Job<ProxiedAnswer>;
  return responsesJob({
    model: asked.model,
    stream: asked.stream === true,
    maxOutputTokens: asked.max_output_tokens,
    endUser: asked.user,
    tags: tagsOf(asked),
    logTags: logTagsOf(asked),
    request: asked,
    bodyFor: (given) => proxiedBody(asked, items, given),
    asChat,
  });
}

export function chatJobOf(asked: ResponsesRequest, items: readonly Fields[]): Job<ChatAnswer> {
  return translatedChatJob({
    withBlocks: toChatRequest(asked, items),
    plain: toPlainChat,
    documentUrl: () => urlInItems(items),
    // Many clients send these default values.
    optional: asked.service_tier === "auto" || asked.service_tier === "default" ? ["service_tier"] : [],
    tags: tagsOf(asked),
    logTags: logTagsOf(asked),
    maxOutputParam: "max_output_tokens",
  });
}
