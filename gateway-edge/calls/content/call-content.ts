import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { CallContent } from "../../../proto/gen/tributary/contents/v1/contents.ts";
import type { BytesPart } from "../../upstream/providers/provider.ts";
import { PATTERN_REACH } from "../guardrails/guardrail.ts";
import type { DeliveredPart } from "../inference/delivery.ts";
import type { Job } from "../inference/job.ts";
import { type BoundedJson, boundedJson } from "./bounded-json.ts";
import { answerOf, promptOf, StreamedText } from "./call-text.ts";
import { redactedJson } from "./redaction.ts";

/** How much of a prompt, and of an answer, is stored. */
export const TEXT_BYTES_MAX = 64 * 1024;

/** Memory for contents of an edge: those of running calls and those that are not sent yet. */
export class ContentMemory {
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** False: there is no room. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#bytesMax) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

interface ContentCall {
  readonly callId: string;
  readonly caller: Pick<Caller, "organizationId" | "keyId">;
  readonly job: Job<unknown>;
}

/** Prompt and answer of a call that runs. */
export class OpenContent {
  readonly #memory: ContentMemory;
  readonly #call: Pick<CallContent, "callId" | "organizationId" | "keyId">;
  readonly #prompt: BoundedJson;
  readonly #streamed = new StreamedText(TEXT_BYTES_MAX + PATTERN_REACH);
  #answer: BoundedJson | undefined;
  #bytes = 0;
  #isOver = false;

  constructor({ callId, caller, job }: ContentCall, memory: ContentMemory) {
    const { organizationId, keyId } = caller;
    this.#memory = memory;
    this.#call = { callId, organizationId, keyId };
    this.#prompt = boundedJson(promptOf(job), TEXT_BYTES_MAX);
    this.#grow(this.#prompt.json.length);
  }

  /** A whole answer, as the client receives it. */
  answered(answer: unknown): void {
    const text = answerOf(answer);
    if (text === undefined || this.#isOver) return;
    this.#answer = boundedJson(text, TEXT_BYTES_MAX);
    this.#grow(this.#answer.json.length);
  }

  /** A part of a stream, as the client receives it. */
  delivered(part: DeliveredPart | BytesPart): void {
    if (!this.#isOver) this.#grow(this.#streamed.add(part));
  }

  /** What there is when the call is settled; undefined if there was no room for it. */
  end(createdAt: Date | undefined): EndedContent | undefined {
    if (this.#isOver) return undefined;
    const streamed = this.#streamed.answer();
    const text = streamed && boundedJson(streamed, TEXT_BYTES_MAX);
    const answer = text ? { json: text.json, isCut: text.isCut || this.#streamed.isCut } : this.#answer;
    this.#isOver = true;
    return new EndedContent({ ...this.#call, createdAt }, { prompt: this.#prompt, answer }, this.#bytes);
  }

  /** Gives its memory back, unless it has ended: then its content has the memory. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#memory.give(this.#bytes);
  }

  #grow(bytes: number): void {
    if (this.#memory.take(bytes)) this.#bytes += bytes;
    else this.drop();
  }
}

/** Prompt and answer of a call that is settled. */
export class EndedContent {
  readonly #call: Omit<CallContent, "content">;
  readonly #texts: { readonly prompt: BoundedJson; readonly answer: BoundedJson | undefined };
  readonly bytes: number;
  #redacted: { readonly prompt: string; readonly answer: string | undefined } | undefined;

  constructor(call: Omit<CallContent, "content">, texts: { prompt: BoundedJson; answer: BoundedJson | undefined }, bytes: number) {
    this.#call = call;
    this.#texts = texts;
    this.bytes = bytes;
  }

  /** Prompt and answer as they may leave the edge. Computed once, after the call. */
  redacted(): { readonly prompt: string; readonly answer: string | undefined } {
    const { prompt, answer } = this.#texts;
    this.#redacted ??= { prompt: redactedJson(prompt.json), answer: answer && redactedJson(answer.json) };
    return this.#redacted;
  }

  message(): CallContent {
    const { prompt, answer } = this.#texts;
    return { ...this.#call, content: { ...this.redacted(), promptTruncated: prompt.isCut, answerTruncated: answer?.isCut ?? false } };
  }
}
