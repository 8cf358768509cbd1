import { AppError } from "../../../../common/errors.ts";
import type { ChatRequest } from "../../../schemas/calls/chat.ts";
import type { ChatAnswer, Provider, ProviderTarget } from "../../../upstream/providers/provider.ts";
import type { DocumentUrl } from "../../dialects/document-urls.ts";
import type { Job, JobTraits } from "../job.ts";
import { chatTraits } from "../traits/chat.ts";
import { chatJob } from "./chat.ts";

/** A chat that arrived in another dialect than Chat Completions. */
export interface TranslatedChat {
  /** With blocks that only some providers take: see `takesBlocks` of their adapters. */
  readonly withBlocks: ChatRequest;
  /** The same in Chat Completions alone; throws for what it cannot express. */
  readonly plain: (request: ChatRequest) => ChatRequest;
  /** Parameters that the translation added, not the caller: dropped where a model does not support them. */
  readonly optional: readonly string[];
  /** Anthropic betas that the caller enabled. */
  readonly betas?: readonly string[];
  readonly tags?: readonly string[];
  readonly logTags?: readonly string[] | undefined;
  /** The first document that it names by URL: refused by name for providers that fetch none, which would take the URL for an id. */
  readonly documentUrl?: () => DocumentUrl | undefined;
  /** The caller's name of the output limit; absent: as in chat. */
  readonly maxOutputParam?: string;
}

/** Sends each provider the form of the request that it takes, and reads the answer as any chat. */
export function translatedChatJob(chat: TranslatedChat): Job<ChatAnswer> {
  const job = chatJob(chat.withBlocks);
  return {
    ...job,
    tags: chat.tags ?? job.tags,
    logTags: chat.logTags ?? job.logTags,
    maxOutputParam: chat.maxOutputParam ?? job.maxOutputParam,
    traits: () => traitsOf(chat),
    request: (attempt) => {
      const { provider, target } = attempt;
      if (!provider.chat?.readsDocumentUrls) refuseDocumentUrl(chat.documentUrl?.());
      const translated = provider.chat?.takesBlocks?.(target.inferenceModelId) ? chat.withBlocks : chat.plain(chat.withBlocks);
      const request = without(translated, lacking(chat.optional, provider, target));
      return chatJob(request).request({ ...attempt, target: withBetas(target, chat.betas ?? []) });
    },
  };
}

function traitsOf(chat: TranslatedChat): JobTraits<ChatAnswer> {
  const { cacheable, ...traits } = chatTraits(chat.withBlocks, (changed) =>
    translatedChatJob({ ...chat, withBlocks: changed as ChatRequest }),
  );
  // Betas change answers and are not part of the request, so answers with betas are not cached.
  return cacheable === undefined || (chat.betas ?? []).length > 0 ? traits : { ...traits, cacheable };
}

function refuseDocumentUrl(document: DocumentUrl | undefined): void {
  if (!document) return;
  const { param, instead } = document;
  const message = `${param}: the provider of this model does not fetch documents by URL. Send the document itself, as ${instead}.`;
  throw new AppError("UNSUPPORTED_PARAMETER", message, { param });
}

function lacking(optional: readonly string[], { chat }: Provider, { inferenceModelId }: ProviderTarget): readonly string[] {
  const supported = chat?.supportedParams(inferenceModelId) ?? [];
  return optional.filter((name) => !supported.includes(name));
}

function without(request: ChatRequest, names: readonly string[]): ChatRequest {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !names.includes(name))) as ChatRequest;
}

function withBetas(target: ProviderTarget, betas: readonly string[]): ProviderTarget {
  if (betas.length === 0) return target;
  const { anthropic_beta: own } = target.params;
  const all = [...(Array.isArray(own) ? own : own === undefined ? [] : [own]), ...betas];
  return { ...target, params: { ...target.params, anthropic_beta: all } };
}
