import type { ChatAnswer, Fields, Provider, ProviderTarget, ResponsesAdapter } from "../../../upstream/providers/provider.ts";
import type { Job } from "../job.ts";
import { type ProxiedAnswer, proxiedJob } from "./proxied.ts";

export interface ResponsesJobInput {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  readonly logTags: readonly string[] | undefined;
  /** The request as it arrived. */
  readonly request: Fields;
  /** The body for a server that has the Responses API. */
  bodyFor(server: { readonly reasons: boolean }): Fields;
  /** The same as a chat; throws for a field that chat does not have. */
  asChat(): Job<ChatAnswer>;
}

/** A request to the Responses API: unchanged where the deployment's server has that API, otherwise as a chat. */
export function responsesJob(call: ResponsesJobInput): Job<ProxiedAnswer> {
  return proxiedJob({
    ...call,
    operation: "responses",
    dialect: "responses",
    maxOutputParam: "max_output_tokens",
    speaker: responsesSpeaker,
    bodyFor: (server) => call.bodyFor({ reasons: server?.adapter.reasons(server.target) ?? false }),
    counted: ["input", "instructions", "tools"],
  });
}

/** The provider's adapter, if the server of this deployment has the Responses API. */
export function responsesSpeaker(provider: Provider, target: ProviderTarget): ResponsesAdapter | undefined {
  return provider.responses?.isSpokenBy(target) ? provider.responses : undefined;
}
