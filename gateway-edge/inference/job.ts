import type {
  Operation,
  Provider,
  ProviderTarget,
  ReportedUsage,
  StreamPart,
  TokenCounter,
  UpstreamRequest,
} from "../providers/provider.ts";

/** One priced piece of work, whatever the operation: how to ask a provider for it and how to read what comes back. Pure. */
export interface Job<Answer> {
  readonly operation: Operation;
  /** The group the caller asked for. */
  readonly model: string;
  readonly stream: boolean;
  readonly choiceCount: number;
  /** The most output tokens the caller wants of each choice; undefined: as many as the model gives; 0: there is no output. */
  readonly maxOutputTokens: number | undefined;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  countInput(counter: TokenCounter): number;
  /** Whether the provider has the operation at all. */
  isOfferedBy(provider: Provider): boolean;
  /** Throws UNSUPPORTED_PARAMETER for a field that the model does not understand and nobody allowed to drop. */
  request(work: JobWork): UpstreamRequest;
  readAnswer(provider: Provider, body: unknown): JobAnswer<Answer>;
  readStream(provider: Provider, body: AsyncIterable<Uint8Array>): AsyncIterable<StreamPart>;
}

export interface JobWork {
  readonly provider: Provider;
  readonly target: ProviderTarget;
  readonly maxOutputTokens: number;
  /** Fields that the model does not understand are left out instead of refused. */
  readonly dropParams: boolean;
}

/** The provider of a kind, when it has the job's operation. */
export function providerFor(providers: ReadonlyMap<string, Provider>, job: Job<unknown>, kind: string): Provider | undefined {
  const provider = providers.get(kind);
  return provider && job.isOfferedBy(provider) ? provider : undefined;
}

export interface JobAnswer<Answer> {
  readonly answer: Answer;
  readonly usage: ReportedUsage | undefined;
  /** What counts as output when the provider does not say, by choice. */
  readonly texts: readonly string[];
}
