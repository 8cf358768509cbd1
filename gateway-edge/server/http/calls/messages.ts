import type { Request, RequestHandler } from "express";
import type { CancelSignal } from "../../../../common/cancel.ts";
import { toJson } from "../../../../common/json.ts";
import type { Caller, Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../../calls/create.ts";
import { urlInMessages } from "../../../calls/dialects/document-urls.ts";
import {
  MessageFrames,
  type MessageIdentity,
  messageAnswer,
  messageIdentity,
  PING_FRAME,
  writtenEvent,
} from "../../../calls/dialects/messages/answer.ts";
import { needsBlocks, toPlainChat } from "../../../calls/dialects/messages/plain.ts";
import { messageCacheable } from "../../../calls/dialects/messages/proxied-cache.ts";
import { ProxiedMessageFrames, proxiedEvents, proxiedMessage } from "../../../calls/dialects/messages/proxied-frames.ts";
import { asksForThinking, callerBetas, toChatRequest, toCountedChat, translatedBetas } from "../../../calls/dialects/messages/request.ts";
import type { ResponseFormat, StreamFormat } from "../../../calls/formats/response-format.ts";
import type { Job } from "../../../calls/inference/job.ts";
import { logTagsOf, providerFields, tagsOf } from "../../../calls/inference/jobs/gateway-fields.ts";
import { messagesJob, messagesSpeaker } from "../../../calls/inference/jobs/messages.ts";
import { isSpokenByAny, type ProxiedAnswer } from "../../../calls/inference/jobs/proxied.ts";
import { translatedChatJob } from "../../../calls/inference/jobs/translated-chat.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import type { ChatRequest } from "../../../schemas/calls/chat.ts";
import {
  type CountMessagesRequest,
  type MessagesRequest,
  parseCountMessagesRequest,
  parseMessagesRequest,
} from "../../../schemas/calls/messages.ts";
import {
  type ContainersDeps,
  claimContainer,
  containerOfEvent,
  containerOfMessage,
  noteContainers,
} from "../../../stored/containers/own-containers.ts";
import { withFiles } from "../../../stored/files/inline-files.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import { takeClientParams } from "../../../upstream/client-params.ts";
import type { ChatAnswer, ChatMessage, Fields } from "../../../upstream/providers/provider.ts";
import { targetOf } from "../../../upstream/target.ts";
import { anthropicErrorBody, anthropicErrorStatus, setAnthropicRequestId } from "../../middleware/anthropic-error.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { requestIdOf } from "../../middleware/request-id.ts";
import type { GatedRoute } from "../gate.ts";
import { answerCall, type CallDeps } from "./answer-call.ts";
import { clientLeft } from "./client-left.ts";
import { countChat, countedDeployment } from "./count-chat.ts";
import { COUNT_MESSAGES_PATHS, MESSAGES_PATHS } from "./messages-operations.ts";
import { readCall } from "./read-call.ts";

/** The dependencies of the Messages API's routes. */
export interface MessagesDeps extends CallDeps, ContainersDeps {
  readonly inference: Pick<Inference, "routing" | "providers" | "countRemotely" | "countFreely">;
}

/** Anthropic's Messages API for every chat model. Its errors have Anthropic's format, so it has its own gate. */
export function messagesRoutes(deps: MessagesDeps): GatedRoute[] {
  return [
    { method: "post", paths: MESSAGES_PATHS, makesCall: true, handler: createMessageHandler(deps) },
    { method: "post", paths: COUNT_MESSAGES_PATHS, handler: countMessageTokensHandler(deps) },
  ];
}

/** Parameters that are dropped for models without them, because clients of this API send them to every model. */
const OPTIONAL = ["parallel_tool_calls", "reasoning_effort", "service_tier", "thinking"];

function createMessageHandler(deps: MessagesDeps): RequestHandler {
  return async (request, response) => {
    setAnthropicRequestId(response);
    const { rawBody, body } = await readCall(deps, request);
    const taken = deps.takesClientParams() ? takeClientParams(body) : undefined;
    const caller = callerOf(response);
    const asked = await withFilesOf(deps, caller, parseMessagesRequest(taken ? taken.rest : body));
    const requestId = requestIdOf(response);
    await requireOwnContainer(deps, caller, asked);
    const note = (id: string) => noteContainers(deps, ownerOf(caller), [id]);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/messages",
      caller,
      job: jobOf(deps, { asked, caller, betas: callerBetas(betaHeader(request)) }),
      routing: routingOf(asked, taken?.params),
      rawBody,
      pathModel: undefined,
      errors: { status: anthropicErrorStatus, body: (error) => anthropicErrorBody(error, requestId) },
      format: messagesFormat({ showsThinking: asksForThinking(asked), requestId, note }),
    });
  };
}

async function requireOwnContainer(deps: MessagesDeps, caller: Caller, asked: Fields): Promise<void> {
  const id = containerOfMessage(asked);
  if (id !== undefined) await claimContainer(deps, ownerOf(caller), { id, param: "container" });
}

async function withFilesOf<Asked extends CountMessagesRequest>(deps: MessagesDeps, caller: Caller, asked: Asked): Promise<Asked> {
  return { ...asked, messages: await withFiles(deps, caller, asked.messages, (index) => `messages[${index}]`) };
}

interface JobInput {
  readonly asked: MessagesRequest;
  readonly caller: Caller;
  readonly betas: readonly string[];
}

/** If a deployment's server has the Messages API, the request is passed through; otherwise it becomes a chat request. */
function jobOf({ inference: { routing, providers } }: MessagesDeps, { asked, caller, betas }: JobInput): Job<ProxiedAnswer> {
  const translated = once(() => toChatRequest(asked));
  const asChat = () => chatJobOf(translated(), { asked, betas });
  const isSpoken = isSpokenByAny(messagesSpeaker, providers, routing.candidates(asked.model, caller));
  // The cast is safe: a chat job only gets answers that it parsed itself.
  if (!isSpoken) return asChat() as unknown as Job<ProxiedAnswer>;
  return messagesJob({
    model: asked.model,
    stream: asked.stream === true,
    maxOutputTokens: asked.max_tokens,
    endUser: asked.metadata?.user_id ?? undefined,
    tags: tagsOf(asked),
    logTags: logTagsOf(asked),
    request: asked,
    betas,
    asChat,
    needsBlocks: once(() => needsBlocks(translated())),
    cacheable: messageCacheable,
  });
}

function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

function chatJobOf(withBlocks: ChatRequest, { asked, betas }: Pick<JobInput, "asked" | "betas">): Job<ChatAnswer> {
  return translatedChatJob({
    withBlocks,
    plain: toPlainChat,
    documentUrl: () => urlInMessages(asked.messages),
    optional: OPTIONAL,
    betas: translatedBetas(betas),
    tags: tagsOf(asked),
    logTags: logTagsOf(asked),
  });
}

function betaHeader(request: Request): string | undefined {
  const header = request.headers["anthropic-beta"];
  return Array.isArray(header) ? header.join(",") : header;
}

interface FormatOptions {
  readonly showsThinking: boolean;
  readonly requestId: string;
  /** Records the container in which the provider ran code. */
  readonly note: (container: string) => Promise<void>;
}

function messagesFormat(options: FormatOptions): ResponseFormat<ProxiedAnswer> {
  const { showsThinking, note } = options;
  return {
    keepAlive: PING_FRAME,
    whole: (answer, context) => {
      const identity = messageIdentity(context);
      const { bill } = context;
      if (!("proxied" in answer)) return toJson(messageAnswer(identity, answer, { bill, showsThinking }));
      const json = toJson(proxiedMessage(identity, answer.proxied, bill));
      const container = containerOfMessage(answer.proxied);
      return container === undefined ? json : note(container).then(() => json);
    },
    stream: (context) => streamFormat(messageIdentity(context), options),
  };
}

/** The first part shows whether the events are the provider's own. */
function streamFormat(identity: MessageIdentity, { showsThinking, requestId, note }: FormatOptions): StreamFormat {
  let container: string | undefined;
  let chosen: MessageFrames | ProxiedMessageFrames | undefined;
  const framesFor = (isOfProvider: boolean) => {
    chosen ??= isOfProvider ? new ProxiedMessageFrames(identity) : new MessageFrames(identity, { showsThinking });
    return chosen;
  };
  return {
    frames: (part) => {
      const events = proxiedEvents(part);
      for (const event of events ?? []) container = containerOfEvent(event) ?? container;
      return framesFor(events !== undefined).frames(part);
    },
    last: async (bill) => {
      if (container !== undefined) await note(container);
      return framesFor(false).last(bill);
    },
    end: "",
    failed: (error) => writtenEvent(anthropicErrorBody(error, requestId)),
  };
}

/** POST messages/count_tokens: counted by the provider if it offers that, otherwise by the gateway. Not billed. */
function countMessageTokensHandler(deps: MessagesDeps): RequestHandler {
  return async (request, response) => {
    setAnthropicRequestId(response);
    const { body } = await readCall(deps, request);
    const caller = callerOf(response);
    const asked = await withFilesOf(deps, caller, parseCountMessagesRequest(body));
    const deployment = countedDeployment(deps.inference, caller, asked.model);
    await requireOwnContainer(deps, caller, asked);
    const asking = { asked, betas: callerBetas(betaHeader(request)), deployment, keyId: caller.keyId };
    response.json({ input_tokens: await count(deps, { ...asking, signal: clientLeft(response, deps.openCalls) }) });
  };
}

interface Counting {
  readonly asked: CountMessagesRequest;
  readonly betas: readonly string[];
  readonly deployment: Deployment;
  readonly signal: CancelSignal;
  readonly keyId: string;
}

async function count({ inference }: MessagesDeps, { asked, betas, deployment, signal, keyId }: Counting): Promise<number> {
  const provider = inference.providers.get(deployment.providerKind);
  const proxied = provider && messagesSpeaker(provider, targetOf(deployment)) ? { body: providerFields(asked), betas } : undefined;
  if (proxied) {
    const remote = await inference.countRemotely({ deployment, asked: {}, proxied, signal });
    if (remote?.type === "counted") return remote.tokens;
    if (remote?.upstreamStatus === 400) throw remote.error;
  }
  const chat = toCountedChat(asked);
  const messages = chat.messages as readonly ChatMessage[];
  const tools = chat["tools"] as readonly unknown[] | undefined;
  return await countChat(inference, { deployment, messages, tools, signal, keyId, isLocal: proxied !== undefined });
}
