import { AppError } from "../../../../common/errors.ts";
import type { Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type {
  ChatAnswer,
  Fields,
  Operation,
  Provider,
  ProviderTarget,
  ProxiedAdapter,
  TokenCounter,
} from "../../../upstream/providers/provider.ts";
import { targetOf } from "../../../upstream/target.ts";
import { readEvents } from "../../../upstream/transports/framing.ts";
import { countOtherFields } from "../../tokens/other-fields.ts";
import { isBinary, textOfData } from "../../tokens/tokens.ts";
import type { CacheableTraits, Job } from "../job.ts";
import { providerFields } from "./gateway-fields.ts";
import { billedParts, billedUsage, toolFeesOf } from "./tool-fees.ts";

/** An answer as the provider wrote it. */
export interface Proxied {
  readonly proxied: Fields;
}

export type ProxiedAnswer = ChatAnswer | Proxied;

export interface ProxiedJobInput<Adapter extends ProxiedAdapter> {
  readonly operation: Operation;
  /** The name of the API: which deployments offer the job depends on it. */
  readonly dialect: string;
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly maxOutputParam: string;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  readonly logTags: readonly string[] | undefined;
  /** The request as it arrived. */
  readonly request: Fields;
  readonly betas?: readonly string[];
  /** The provider's adapter, if the server of this deployment has the API. */
  speaker(provider: Provider, target: ProviderTarget): Adapter | undefined;
  /** The body for a server that has the API; without one, the body to count. */
  bodyFor(server?: { readonly adapter: Adapter; readonly target: ProviderTarget }): Fields;
  /** The fields of the body that count as input. */
  readonly counted: readonly string[];
  /** The same as a chat; throws for what chat cannot express. */
  asChat(): Job<ChatAnswer>;
  /** Whether that chat is only for providers that take blocks beside Chat Completions; absent: it is for all. */
  readonly needsBlocks?: () => boolean;
  readonly cacheable?: CacheableTraits<ProxiedAnswer>;
}

/** A request in another dialect than Chat Completions: unchanged where the deployment's server has that API, otherwise as a chat. */
export function proxiedJob<Adapter extends ProxiedAdapter>(call: ProxiedJobInput<Adapter>): Job<ProxiedAnswer> {
  const { operation, dialect, model, stream, maxOutputTokens, maxOutputParam, endUser, tags, logTags, speaker, cacheable } = call;
  const chat = translationOf(call);
  const fees = toolFeesOf(call.request);
  return {
    operation,
    model,
    stream,
    choiceCount: 1,
    maxOutputTokens,
    maxOutputParam,
    endUser,
    tags,
    logTags,
    fees,
    countInput: (counter) => ("job" in chat() ? chatIn(chat()).countInput(counter) : countBody(call, counter)),
    get offer() {
      if (!("job" in chat())) return `${dialect}-untranslated`;
      return call.needsBlocks?.() ? `${dialect}-blocks` : dialect;
    },
    isOfferedBy: (provider, target) => {
      if (speaker(provider, target)) return true;
      if (!provider.chat || !("job" in chat())) return false;
      return !call.needsBlocks?.() || provider.chat.takesBlocks?.(target.inferenceModelId) === true;
    },
    request: (given) => {
      const { provider, target, maxOutputTokens: limit } = given;
      const adapter = speaker(provider, target);
      if (!adapter) return chatIn(chat()).request(given);
      const body = providerFields(call.bodyFor({ adapter, target }));
      return adapter.buildRequest({ body, stream, maxOutputTokens: limit, ...(call.betas && { betas: call.betas }) }, target);
    },
    readAnswer: (provider, body, target) => {
      const adapter = speaker(provider, target);
      if (!adapter) return chatIn(chat()).readAnswer(provider, body, target);
      const { proxied, usage, text } = adapter.readAnswer(body);
      return { answer: { proxied }, usage: billedUsage(usage, fees), texts: [text] };
    },
    readStream: (provider, bytes, target) => {
      const adapter = speaker(provider, target);
      if (!adapter) return chatIn(chat()).readStream(provider, bytes, target);
      return billedParts(adapter.readStream(readEvents(adapter.framing, bytes)), fees);
    },
    traits: () => ({
      request: call.request,
      // Guardrails read chat requests: a request that they must read is sent as a chat, whatever the deployment.
      readable: () =>
        chatIn(chat(), "Guardrails apply to this call, so it is sent as a chat completion. ") as unknown as Job<ProxiedAnswer>,
      ...(cacheable && { cacheable }),
    }),
  };
}

type Speaker = ProxiedJobInput<ProxiedAdapter>["speaker"];

const spoken = new WeakMap<Speaker, WeakMap<readonly Deployment[], boolean>>();

/** Cached by the list of candidates, which stays the same object until the routing table changes. */
export function isSpokenByAny(speaker: Speaker, providers: ReadonlyMap<string, Provider>, candidates: readonly Deployment[]): boolean {
  const lists = spoken.get(speaker) ?? new WeakMap<readonly Deployment[], boolean>();
  const known = lists.get(candidates);
  if (known !== undefined) return known;
  const found = candidates.some((deployment) => {
    const provider = providers.get(deployment.providerKind);
    return provider !== undefined && speaker(provider, targetOf(deployment)) !== undefined;
  });
  spoken.set(speaker, lists.set(candidates, found));
  return found;
}

type Translation = { readonly job: Job<ChatAnswer> } | { readonly refusal: AppError };

/** Computed once, on first use. */
function translationOf(call: Pick<ProxiedJobInput<ProxiedAdapter>, "asChat">): () => Translation {
  let known: Translation | undefined;
  return () => {
    known ??= translate(call);
    return known;
  };
}

function translate(call: Pick<ProxiedJobInput<ProxiedAdapter>, "asChat">): Translation {
  try {
    return { job: call.asChat() };
  } catch (thrown) {
    if (thrown instanceof AppError) return { refusal: thrown };
    throw thrown;
  }
}

function chatIn(translation: Translation, why = ""): Job<ChatAnswer> {
  if ("job" in translation) return translation.job;
  const { code, message, param, cause } = translation.refusal;
  throw new AppError(code, why + message, { param, cause });
}

function countBody<Adapter extends ProxiedAdapter>({ bodyFor, counted }: ProxiedJobInput<Adapter>, counter: TokenCounter): number {
  const body = bodyFor();
  const text = JSON.stringify(
    counted.map((name) => body[name]),
    withoutData,
  );
  return counter.countText(text) + countOtherFields(providerFields(body), counter, counted);
}

/** Images and files are not counted by their characters, but for those that are text. */
function withoutData(this: unknown, name: string, value: unknown): unknown {
  if (isBinary(name, value)) return textOfData(value) ?? "";
  return name === "data" && (this as Fields)["type"] === "base64" ? "" : value;
}
