import type { FeeCounts } from "../../../common/fees.ts";
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

/** One operation for one call: how to build the request for a provider and how to read the answer. Pure. */
export interface Job<Answer> {
  readonly operation: Operation;
  /** The requested model group. */
  readonly model: string;
  readonly stream: boolean;
  /** The upstream's bytes are the answer: they are forwarded as they arrive and not parsed. */
  readonly passesBytes?: true;
  /** Resolves when the caller's upload is complete; absent: there is none. The upstream's timeout starts then. */
  readonly uploaded?: Promise<void>;
  /** The format of the upstream's whole answer; absent: JSON. */
  readonly answerAs?: "json" | "text";
  readonly choiceCount: number;
  /** Each choice begins with the text of the request, which is no output. */
  readonly echoesInput?: boolean;
  /** The output limit of the caller for each choice; undefined: the model's limit; 0: there is no output. */
  readonly maxOutputTokens: number | undefined;
  /** The request field that holds this limit; absent: the caller did not set it. */
  readonly maxOutputParam?: string | undefined;
  readonly endUser: string | undefined;
  /** The caller's tags: deployments may be selected by them. */
  readonly tags: readonly string[];
  /** Tags that only the log has. */
  readonly logTags?: readonly string[] | undefined;
  countInput(counter: TokenCounter): number;
  /** The most it can use in other units than tokens; it can be priced only by these units. */
  readonly most?: Amounts;
  /** The requested size and quality of images, as prices name them. */
  readonly image?: string | undefined;
  /** The most that the request can cause of what the provider bills beside the tokens; absent: nothing. */
  readonly fees?: FeeCounts | undefined;
  /** The usage as computed from the request and the answer; used where the provider reports none. */
  estimate?(answered: Answered): Estimate;
  /** Jobs with the same value are offered by the same deployments; absent: all jobs of one operation are. */
  readonly offer?: string;
  /** Whether the provider, and this deployment of it, has the operation. */
  isOfferedBy(provider: Provider, target: ProviderTarget): boolean;
  /** Throws UNSUPPORTED_PARAMETER for a field that the model does not support, unless `dropParams` is set. */
  request(attempt: JobAttempt): UpstreamRequest;
  /** The job in several requests where one request to this provider cannot hold all of it; undefined: it can. */
  pieces?(provider: Provider, target: ProviderTarget): JobPieces<Answer> | undefined;
  readAnswer(provider: Provider, body: unknown, target: ProviderTarget): JobAnswer<Answer>;
  readStream(provider: Provider, body: AsyncIterable<Uint8Array>, target: ProviderTarget): AsyncIterable<StreamPart | BytesPart>;
  /** What cache, guardrails and schema check use; absent: they pass the job unchanged. */
  traits?(): JobTraits<Answer>;
}

/** What is known of an answer that was forwarded without being parsed. */
export interface Answered {
  /** As counted before the call. */
  readonly inputTokens: number;
  readonly bytes: number;
  /** Tokens of the text in it, by the provider's own count. */
  readonly textTokens: number;
}

export interface Estimate {
  readonly input: number;
  readonly output: number;
  readonly amounts?: Amounts;
  readonly image?: string | undefined;
}

export interface JobAttempt {
  readonly provider: Provider;
  readonly target: ProviderTarget;
  readonly maxOutputTokens: number;
  /** Fields that the model does not support are dropped instead of refused. */
  readonly dropParams: boolean;
}

/** The value that decides, with the deployment, whether a job is offered. */
export function offerOf({ offer, operation }: Job<unknown>): string {
  return offer ?? operation;
}

/** Requests of one attempt: the attempt succeeds only when all of them do. */
export interface JobPieces<Answer> {
  readonly jobs: readonly Job<Answer>[];
  /**
   * How often the requests together hold the whole input, which the provider reads and bills each time; they run at the same time. Absent:
   * each holds a part of it.
   */
  readonly inputReads?: number;
  /** Answers in the order of the jobs. */
  join(answers: readonly JobAnswer<Answer>[]): JobAnswer<Answer>;
  /** One stream out of the streams of the jobs, in their order; absent: the job never streams. */
  joinStreams?(streams: readonly AsyncIterable<StreamPart | BytesPart>[]): AsyncIterable<StreamPart | BytesPart>;
}

/** How often a deployment reads, and bills, the input of a job: more than once where each choice is a request of its own. */
export function inputReads(
  job: Job<unknown>,
  { provider, attempt }: { provider: Provider | undefined; attempt: { deployment: Deployment } },
): number {
  if (job.choiceCount === 1 || !provider) return 1;
  const pieces = job.pieces?.(provider, targetOf(attempt.deployment));
  return pieces?.inputReads ?? 1;
}

/** The provider of a deployment, if it has the job's operation. */
export function providerFor(providers: ReadonlyMap<string, Provider>, job: Job<unknown>, deployment: Deployment): Provider | undefined {
  const provider = providers.get(deployment.providerKind);
  return provider && job.isOfferedBy(provider, targetOf(deployment)) ? provider : undefined;
}

export interface JobAnswer<Answer> {
  readonly answer: Answer;
  readonly usage: ReportedUsage | undefined;
  /** The texts that count as output when the provider reports no usage, by choice. */
  readonly texts: readonly string[];
}

/**
 * What the layers around the data path (cache, guardrails, schema check) need to know of a job. Pure, like the job itself; a job
 * without traits passes them unchanged.
 */
export interface JobTraits<Answer> {
  /** The request as it arrived, including the gateway's own fields. */
  readonly request: Fields;
  /** The same job in a form that guardrails can read; it replaces this job where a guardrail applies. */
  readable?(): Job<Answer>;
  /** What guardrails read of it; absent: guardrails do not apply to this operation. */
  readonly prompt?: PromptTraits<Answer>;
  /** How a cache stores its answer; absent: it does not. */
  readonly cacheable?: CacheableTraits<Answer>;
  readonly batch?: BatchTraits<Answer>;
}

export interface PromptTraits<Answer> {
  /** All texts of the request, in order; undefined: the request came as tokens, which guardrails cannot read. */
  readonly texts: readonly string[] | undefined;
  /** The same job with other texts in the same places. */
  withTexts(texts: readonly string[]): Job<Answer>;
  /** Absent: the answer is not text. */
  readonly answer?: AnswerTraits<Answer>;
}

export interface AnswerTraits<Answer> {
  texts(answer: Answer): readonly string[];
  withTexts(answer: Answer, texts: readonly string[]): Answer;
}

export interface CacheableTraits<Answer> {
  /** The API of the request, if its fields are not those of its operation: equal fields mean something else there. */
  readonly dialect?: string;
  /** False for an answer that was cut off or withheld: it must not be the answer to the next caller. */
  isWhole(answer: Answer): boolean;
  /** The whole answer that a stream's parts make, for operations with streams. */
  assemble?(parts: readonly StreamPart[]): Answer;
  /** An answer as parts of a stream. */
  replay?(answer: Answer): StreamPart[];
}

/** A request that is a list of items, each of which can be answered alone. */
export interface BatchTraits<Answer> {
  readonly count: number;
  /** The same job for some of the items, by their indexes. */
  only(places: readonly number[]): Job<Answer>;
  split(answer: Answer): readonly Answer[];
  join(answers: readonly Answer[]): Answer;
}
