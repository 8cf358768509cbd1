import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type {
  Amounts,
  BytesPart,
  Fields,
  Operation,
  Provider,
  ProviderTarget,
  ReportedUsage,
  StreamPart,
  TokenCounter,
  UpstreamRequest,
} from "../../upstream/providers/provider.ts";
import { targetOf } from "../../upstream/target.ts";

/** One priced piece of work, whatever the operation: how to ask a provider for it and how to read what comes back. Pure. */
export interface Job<Answer> {
  readonly operation: Operation;
  /** The group the caller asked for. */
  readonly model: string;
  readonly stream: boolean;
  /** The upstream's bytes are the answer: passed on as they come, read by nobody. */
  readonly passesBytes?: true;
  /** Settles when the caller's own data is all here; absent: it is. An upstream's time counts from then. */
  readonly uploaded?: Promise<void>;
  /** What the upstream's whole answer is; absent: JSON. */
  readonly answerAs?: "json" | "text";
  readonly choiceCount: number;
  /** The most output tokens the caller wants of each choice; undefined: as many as the model gives; 0: there is no output. */
  readonly maxOutputTokens: number | undefined;
  /** The field of the request that says so; absent: the limit is not the caller's own. */
  readonly maxOutputParam?: string | undefined;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  countInput(counter: TokenCounter): number;
  /** The most it can come to in other units than tokens; only by these can it be priced. */
  readonly most?: Amounts;
  /** What it came to, as far as can be told from what was sent and what came back; stands in where the provider says nothing. */
  estimate?(answered: Answered): Estimate;
  /** Jobs with the same word here are offered by the same deployments; absent: all of one operation are. */
  readonly offer?: string;
  /** Whether the provider has the operation at all, or this deployment of it. */
  isOfferedBy(provider: Provider, target: ProviderTarget): boolean;
  /** Throws UNSUPPORTED_PARAMETER for a field that the model does not understand and nobody allowed to drop. */
  request(attempt: JobAttempt): UpstreamRequest;
  /** The job in pieces where one request to this provider does not take all of it; undefined: it does. Never of a stream. */
  pieces?(provider: Provider, target: ProviderTarget): JobPieces<Answer> | undefined;
  readAnswer(provider: Provider, body: unknown, target: ProviderTarget): JobAnswer<Answer>;
  readStream(provider: Provider, body: AsyncIterable<Uint8Array>, target: ProviderTarget): AsyncIterable<StreamPart | BytesPart>;
  /** What cache, guardrails and schema check go by; absent: they let the job pass. */
  traits?(): JobTraits<Answer>;
}

/** What was passed on without being read. */
export interface Answered {
  /** As they were counted before the call. */
  readonly inputTokens: number;
  readonly bytes: number;
  /** Tokens of the text in it, by the provider's own count. */
  readonly textTokens: number;
}

export interface Estimate {
  readonly input: number;
  readonly output: number;
  readonly amounts?: Amounts;
}

export interface JobAttempt {
  readonly provider: Provider;
  readonly target: ProviderTarget;
  readonly maxOutputTokens: number;
  /** Fields that the model does not understand are left out instead of refused. */
  readonly dropParams: boolean;
}

/** What decides, beside the deployment, whether a job is offered. */
export function offerOf({ offer, operation }: Job<unknown>): string {
  return offer ?? operation;
}

/** Requests of one attempt: all of them are answered, or the attempt has failed. */
export interface JobPieces<Answer> {
  readonly jobs: readonly Job<Answer>[];
  /** Answers in the order of the jobs. */
  join(answers: readonly JobAnswer<Answer>[]): JobAnswer<Answer>;
}

/** The provider of a deployment, when it has the job's operation. */
export function providerFor(providers: ReadonlyMap<string, Provider>, job: Job<unknown>, deployment: Deployment): Provider | undefined {
  const provider = providers.get(deployment.providerKind);
  return provider && job.isOfferedBy(provider, targetOf(deployment)) ? provider : undefined;
}

export interface JobAnswer<Answer> {
  readonly answer: Answer;
  readonly usage: ReportedUsage | undefined;
  /** What counts as output when the provider does not say, by choice. */
  readonly texts: readonly string[];
}

/**
 * What the layers around the data path (cache, guardrails, schema check) need to know of a job. Pure, like the job itself; a job
 * without traits passes them unchanged.
 */
export interface JobTraits<Answer> {
  /** The request as it came, the gateway's own fields included. */
  readonly request: Fields;
  /** The same job in words that guardrails can read; made in its place where any hold. */
  readable?(): Job<Answer>;
  /** What guardrails read of it; absent: they have no say in this operation. */
  readonly prompt?: PromptTraits<Answer>;
  /** What a cache may keep of its answer; absent: nothing. */
  readonly cacheable?: CacheableTraits<Answer>;
  readonly batch?: BatchTraits<Answer>;
}

export interface PromptTraits<Answer> {
  /** Everything that is text in the request, in order; undefined: it came as tokens, which nobody here can read. */
  readonly texts: readonly string[] | undefined;
  /** The same job with other texts in their places. */
  withTexts(texts: readonly string[]): Job<Answer>;
  /** Absent: the answer is no text. */
  readonly answer?: AnswerTraits<Answer>;
}

export interface AnswerTraits<Answer> {
  texts(answer: Answer): readonly string[];
  withTexts(answer: Answer, texts: readonly string[]): Answer;
}

export interface CacheableTraits<Answer> {
  /** False for an answer that was cut off or withheld: the next caller deserves a better one. */
  isWhole(answer: Answer): boolean;
  /** A stream's parts as the answer that was streamed, for operations that have a stream. */
  assemble?(parts: readonly StreamPart[]): Answer;
  /** An answer as parts of a stream. */
  replay?(answer: Answer): StreamPart[];
}

/** A request that is a list of like things, each of which can be answered by itself. */
export interface BatchTraits<Answer> {
  readonly count: number;
  /** The same job for some of the items, by their places. */
  only(places: readonly number[]): Job<Answer>;
  split(answer: Answer): readonly Answer[];
  join(answers: readonly Answer[]): Answer;
}
