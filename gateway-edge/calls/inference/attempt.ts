import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { ignore, orElse } from "../../../common/ignore.ts";
import type { ReadyIterator } from "../../../common/ready-iterator.ts";
import { targetFor } from "../../upstream/client-target.ts";
import type {
  BytesPart,
  Provider,
  ProviderTarget,
  ReportedUsage,
  Send,
  StreamPart,
  UpstreamResponse,
} from "../../upstream/providers/provider.ts";
import type { Attempt } from "../../upstream/routing/route.ts";
import { toTarget } from "../../upstream/target.ts";
import { parseAnswer, readFailure, wholeBody } from "../../upstream/transports/upstream.ts";
import { AttemptConnection, type ConnectionInput } from "./attempt-connection.ts";
import { answerPieces, streamPieces } from "./attempt-pieces.ts";
import { refusedGiven } from "./given-error.ts";
import { type Job, type JobAnswer, type JobAttempt, type JobPieces, providerFor } from "./job.ts";

export interface AttemptDeps {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly send: Send;
  readonly clock: Clock;
}

export interface AttemptInput<Answer> extends ConnectionInput {
  readonly job: Job<Answer>;
  readonly maxOutputTokens: number;
  readonly dropParams: boolean;
}

interface Open {
  readonly attempt: Attempt;
  readonly provider: Provider;
  readonly connection: AttemptConnection;
}

/** A whole answer. It has freed its connection. */
interface AnsweredAttempt<Answer> extends Open {
  readonly type: "answer";
  readonly answer: JobAnswer<Answer>;
}

/** An attempt with a result: a whole answer, or the first part of a stream. */
export type OpenAttempt<Answer> = AnsweredAttempt<Answer> | StreamedAttempt;

type AttemptPart = StreamPart | BytesPart;

/** Nothing was visible to the client: another deployment may be tried. */
export interface FailedOpening {
  readonly type: "failed";
  readonly attempt: Attempt;
  readonly error: AppError;
  readonly upstreamStatus: number | undefined;
  readonly connection: AttemptConnection;
}

/** What an attempt became. An error is an outcome, not an exception. */
export type Opening<Answer> = OpenAttempt<Answer> | FailedOpening;

/** Sends one request to one deployment; `done` is called once, and must not throw. */
export function openAttempt<Answer>(deps: AttemptDeps, input: AttemptInput<Answer>, done: (opening: Opening<Answer>) => void): void {
  new AttemptOpening(deps, input, done).send();
}

/** An attempt until it has a result: its request is sent, then its response read. Each step ends it, or leaves the next to what it waits for. */
class AttemptOpening<Answer> {
  readonly #deps: AttemptDeps;
  readonly #input: AttemptInput<Answer>;
  readonly #done: (opening: Opening<Answer>) => void;
  readonly #connection: AttemptConnection;
  #upstreamStatus: number | undefined;

  constructor(deps: AttemptDeps, input: AttemptInput<Answer>, done: (opening: Opening<Answer>) => void) {
    this.#deps = deps;
    this.#input = input;
    this.#done = done;
    this.#connection = new AttemptConnection(deps, input);
  }

  send(): void {
    const { job, attempt, maxOutputTokens, dropParams, given } = this.#input;
    try {
      const provider = providerOf(this.#deps, this.#input);
      const target = targetFor(attempt.deployment, given);
      const jobAttempt = { provider, target, maxOutputTokens, dropParams };
      const pieces = job.pieces?.(provider, target);
      if (pieces) return void this.#sendPieces(pieces, jobAttempt).catch(this.#fail);
      const sent = this.#deps.send(toTarget(job.request(jobAttempt), target), this.#connection.signal, this.#connection);
      sent.then((response) => this.#respond(response, jobAttempt), this.#fail);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #respond(response: UpstreamResponse, { provider, target }: JobAttempt): void {
    const { job } = this.#input;
    this.#upstreamStatus = response.status;
    try {
      if (response.status < 200 || response.status > 299) this.#refused(response, provider);
      else if (job.stream || job.passesBytes)
        this.#stream(provider, job.readStream(provider, response.body, target), response.headers["content-type"]);
      else this.#receive(wholeBody(response), provider, target);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #refused(response: UpstreamResponse, provider: Provider): void {
    const refused = readFailure(response).then((failure) => Promise.reject(provider.readError(failure)));
    refused.catch(this.#fail);
  }

  #receive(body: Buffer | Promise<Buffer>, provider: Provider, target: ProviderTarget): void {
    const { job } = this.#input;
    const read = (bytes: Buffer) => this.#answered(provider, job.readAnswer(provider, parseAnswer(bytes, job.answerAs), target));
    if (body instanceof Promise) body.then(read).catch(this.#fail);
    else read(body);
  }

  #answered(provider: Provider, answer: JobAnswer<Answer>): void {
    this.#connection.done();
    this.#done({ type: "answer", attempt: this.#input.attempt, provider, connection: this.#connection, answer });
  }

  /** The status is only sent with the first part: until then an error can have its own status, and another deployment may be tried. */
  #stream(provider: Provider, parts: AsyncIterable<AttemptPart>, contentType: string | undefined): void {
    const open = { attempt: this.#input.attempt, provider, connection: this.#connection };
    const iterator = parts[Symbol.asyncIterator]();
    iterator.next().then((first) => this.#done(new StreamedAttempt(open, { iterator, first, contentType })), this.#fail);
  }

  async #sendPieces(pieces: JobPieces<Answer>, jobAttempt: JobAttempt): Promise<void> {
    const onStatus = (status: number) => {
      this.#upstreamStatus = status;
    };
    const asked = { pieces, jobAttempt, connection: this.#connection, onStatus };
    if (!this.#input.job.stream) return this.#answered(jobAttempt.provider, await answerPieces(this.#deps, asked));
    const { parts, contentType } = await streamPieces(this.#deps, asked);
    this.#stream(jobAttempt.provider, parts, contentType);
  }

  readonly #fail = (thrown: unknown): void => {
    const connection = this.#connection;
    const { given } = this.#input;
    const seen = connection.asError(thrown);
    const error = given ? refusedGiven(given, seen, this.#upstreamStatus) : seen;
    connection.close();
    this.#done({ type: "failed", attempt: this.#input.attempt, error, upstreamStatus: this.#upstreamStatus, connection });
  };
}

function providerOf<Answer>({ providers }: AttemptDeps, { job, attempt }: AttemptInput<Answer>): Provider {
  const { deployment } = attempt;
  const provider = providerFor(providers, job, deployment);
  if (provider) return provider;
  throw new AppError("UPSTREAM_UNAVAILABLE", "The provider does not offer this operation.", {
    internal: `${deployment.providerKind} ${job.operation}`,
  });
}

/** An attempt whose answer arrives in parts. */
export class StreamedAttempt implements Open {
  readonly type = "stream";
  readonly attempt: Attempt;
  readonly provider: Provider;
  readonly connection: AttemptConnection;
  /** As the upstream sent it. */
  readonly contentType: string | undefined;
  readonly first: IteratorResult<AttemptPart>;
  readonly #iterator: ReadyIterator<AttemptPart>;
  readonly #received = (result: IteratorResult<AttemptPart>): IteratorResult<AttemptPart> => {
    this.connection.received();
    if (result.done) this.connection.done();
    return result;
  };

  constructor({ attempt, provider, connection }: Open, { iterator, first, contentType }: OpenStream) {
    this.attempt = attempt;
    this.provider = provider;
    this.connection = connection;
    this.contentType = contentType;
    this.#iterator = iterator;
    this.first = this.#received(first);
  }

  next(): Promise<IteratorResult<AttemptPart>> {
    return this.#iterator.next().then(this.#received);
  }

  /** A part that is here already; see ReadyIterator. */
  ready(): AttemptPart | undefined {
    return this.#iterator.ready?.();
  }

  /** See ReadyIterator. */
  wake(onArrival: () => void): boolean {
    return this.#iterator.wake?.(onArrival) === true;
  }

  /** Something has arrived that `next` did not return. */
  received(): void {
    this.connection.received();
  }

  /** The usage that the upstream reports after the client has left, if it comes before the connection is aborted. */
  async lateReport(): Promise<ReportedUsage | undefined> {
    const { signal } = this.connection;
    const aborted = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
    return signal.aborted ? undefined : await Promise.race([orElse(this.#usage(), undefined, "the stream has failed"), aborted]);
  }

  async #usage(): Promise<ReportedUsage | undefined> {
    for (let next = await this.next(); !next.done && !this.connection.signal.aborted; next = await this.next())
      if (next.value.type === "usage") return next.value.usage;
    return undefined;
  }

  /** Frees the connection and discards what has not arrived. */
  close(): void {
    this.connection.close();
    void ignore(this.#iterator.return?.(), "the stream is not read on");
  }
}

interface OpenStream {
  readonly iterator: ReadyIterator<AttemptPart>;
  readonly first: IteratorResult<AttemptPart>;
  readonly contentType: string | undefined;
}
