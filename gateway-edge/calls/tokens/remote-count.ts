import { abortSignalOf, type CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ChatMessage, CountCall, Provider, RemoteCount, Send } from "../../upstream/providers/provider.ts";
import { targetOf, toTarget } from "../../upstream/target.ts";
import { readFailure, readJsonAnswer } from "../../upstream/transports/upstream.ts";
import type { Countable } from "./token-counter.ts";

export interface RemoteCountDeps {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly send: Send;
  readonly clock: Clock;
}

export interface RemoteCountInput {
  readonly deployment: Deployment;
  readonly asked: Countable;
  /** The same in the provider's own API. */
  readonly proxied?: CountCall["proxied"];
  /** Aborted when the client disconnects. */
  readonly signal: CancelSignal;
}

export type RemoteCounted =
  | { readonly type: "counted"; readonly tokens: number; readonly tokenizer: string; readonly original: unknown }
  /** With the HTTP status of the provider's refusal, if there was one. */
  | { readonly type: "failed"; readonly error: AppError; readonly upstreamStatus: number | undefined };

const COUNT_MS = 10_000;
/** Nothing is generated, but some request formats require an output limit. */
const OUTPUT_TOKENS = 1024;

/** Requests the token count of a request from a deployment's provider. One request, unpriced; undefined where the provider cannot count it. */
export async function countRemotely(deps: RemoteCountDeps, input: RemoteCountInput): Promise<RemoteCounted | undefined> {
  const provider = deps.providers.get(input.deployment.providerKind);
  const counter = provider?.remoteCount;
  if (!provider || !counter || (input.asked.contents !== undefined && !counter.takesContents)) return undefined;
  const late = new AbortController();
  const cancel = deps.clock.after(COUNT_MS, () => late.abort());
  let upstreamStatus: number | undefined;
  try {
    const target = targetOf(input.deployment);
    const request = counter.buildRequest({ ...countCall(input.asked), proxied: input.proxied }, target);
    const response = await deps.send(toTarget(request, target), AbortSignal.any([abortSignalOf(input.signal), late.signal]));
    if (response.status < 200 || response.status > 299) {
      upstreamStatus = response.status;
      throw provider.readError(await readFailure(response));
    }
    return counted(counter, await readJsonAnswer(response));
  } catch (thrown) {
    return { type: "failed", error: late.signal.aborted ? tooLate(thrown) : asError(thrown), upstreamStatus };
  } finally {
    cancel();
  }
}

function counted(counter: RemoteCount, original: unknown): RemoteCounted {
  return { type: "counted", tokens: counter.readAnswer(original), tokenizer: counter.tokenizer, original };
}

/** A prompt is a user message; a system text comes first. */
function countCall({ prompt, messages = [], contents, system, tools }: Countable): CountCall {
  const before = system === undefined || system === null ? [] : [{ role: "system", content: system }];
  const said = prompt === undefined ? [] : [{ role: "user", content: prompt }];
  const all = [...before, ...(messages as readonly ChatMessage[]), ...said];
  return { body: { messages: all, ...(tools && { tools }) }, contents, stream: false, maxOutputTokens: OUTPUT_TOKENS };
}

function tooLate(cause: unknown): AppError {
  return new AppError("UPSTREAM_TIMEOUT", "The provider did not return a token count in time.", { cause });
}

function asError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { name, code } = thrown as { name?: unknown; code?: unknown };
  const isOfNetwork = name === "AbortError" || typeof code === "string";
  return isOfNetwork ? new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { cause: thrown }) : asAppError(thrown);
}
