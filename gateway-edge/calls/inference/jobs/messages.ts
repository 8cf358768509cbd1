import type { ChatAnswer, Fields, Provider, ProviderTarget, ProxiedAdapter } from "../../../upstream/providers/provider.ts";
import type { CacheableTraits, Job } from "../job.ts";
import { type ProxiedAnswer, proxiedJob } from "./proxied.ts";

export interface MessagesJobInput {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  readonly logTags: readonly string[] | undefined;
  /** The request as it arrived. */
  readonly request: Fields;
  readonly betas: readonly string[];
  /** The same as a chat; throws for what chat does not have. */
  asChat(): Job<ChatAnswer>;
  /** Whether that chat is only for providers that take Anthropic's own tools and fields. */
  needsBlocks(): boolean;
  readonly cacheable: CacheableTraits<ProxiedAnswer>;
}

/** A request to Anthropic's Messages API: unchanged where the deployment's server has that API, otherwise as a chat. */
export function messagesJob({ cacheable, ...call }: MessagesJobInput): Job<ProxiedAnswer> {
  return proxiedJob({
    ...call,
    operation: "chat",
    dialect: "messages",
    maxOutputParam: "max_tokens",
    speaker: messagesSpeaker,
    bodyFor: () => call.request,
    counted: ["system", "messages", "tools"],
    // Betas change answers and are not part of the request, so answers with betas are not cached.
    ...(call.betas.length === 0 && { cacheable }),
  });
}

/** The provider's adapter, if the server of this deployment has the Messages API. */
export function messagesSpeaker(provider: Provider, target: ProviderTarget): ProxiedAdapter | undefined {
  return provider.messages?.isSpokenBy(target) ? provider.messages : undefined;
}
