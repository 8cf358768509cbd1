import { isTrue } from "../../../schemas/calls/form-fields.ts";
import type { TranscriptionsRequest } from "../../../schemas/calls/transcriptions.ts";
import type { FormAdapter, Provider } from "../../../upstream/providers/provider.ts";
import { asFields, malformed } from "../../../upstream/providers/shared/json-fields.ts";
import { readMediaUsage } from "../../../upstream/providers/shared/media-usage.ts";
import type { AudioLength } from "../../tokens/audio/audio-length.ts";
import { mostMilliseconds, spokenAtLeast } from "../../tokens/audio/usual-durations.ts";
import type { Job, JobAnswer } from "../job.ts";
import { type FormSource, formCallOf } from "./form-source.ts";
import { passEvents } from "./pass-events.ts";

/** Audio tokens: providers count ten per second, the reservation twenty. */
const TOKENS_PER_SECOND = 10;
const MOST_TOKENS_PER_SECOND = 20;

export interface AudioForm {
  readonly operation: "transcriptions" | "translations";
  readonly model: string;
  readonly form: FormSource;
  /** The largest size of the file. */
  readonly fileBytesMax: number;
  /** Of the bytes that have arrived. */
  readonly length: Pick<AudioLength, "milliseconds">;
  /** The form fields that have arrived: a field that decides about the answer may follow the file. */
  request(): TranscriptionsRequest;
}

/** A transcript: an OpenAI object, or plain text. */
export interface Transcript {
  readonly body: string;
  readonly isJson: boolean;
}

export function transcriptionsJob(asked: AudioForm): Job<Transcript> {
  const { operation, model, form, fileBytesMax } = asked;
  const most = mostMilliseconds(fileBytesMax);
  const isText = () => ["text", "srt", "vtt"].includes(asked.request().response_format ?? "json");
  return {
    operation,
    model,
    get stream() {
      return operation === "transcriptions" && isTrue(asked.request().stream);
    },
    get answerAs() {
      return isText() ? ("text" as const) : ("json" as const);
    },
    uploaded: form.complete,
    choiceCount: 1,
    maxOutputTokens: undefined,
    endUser: undefined,
    tags: [],
    countInput: (counter) => counter.countText(asked.request().prompt ?? "") + tokensOf(most, MOST_TOKENS_PER_SECOND),
    most: { millisecond: { input: most, output: 0 } },
    estimate: ({ textTokens }) => {
      // The file's word for its length; but what was said takes its time.
      const milliseconds = Math.min(Math.max(asked.length.milliseconds(), spokenAtLeast(textTokens)), most);
      return {
        input: tokensOf(milliseconds, TOKENS_PER_SECOND),
        output: textTokens,
        amounts: { millisecond: { input: milliseconds, output: 0 } },
      };
    },
    isOfferedBy: (provider) => provider[operation] !== undefined,
    request: ({ provider, target }) => adapterOf(provider, operation).buildRequest(formCallOf(form), target),
    readAnswer: (_provider, body) => (isText() ? readText(body) : readJson(body)),
    readStream: (_provider, bytes) =>
      passEvents(bytes, { textOf: ({ type, delta }) => (type === "transcript.text.delta" && typeof delta === "string" ? delta : "") }),
  };
}

function tokensOf(milliseconds: number, perSecond: number): number {
  return Math.ceil((milliseconds * perSecond) / 1000);
}

function readText(body: unknown): JobAnswer<Transcript> {
  const text = String(body);
  return { answer: { body: text, isJson: false }, usage: undefined, texts: [text] };
}

function readJson(body: unknown): JobAnswer<Transcript> {
  const { text } = asFields(body);
  if (typeof text !== "string") throw malformed("a transcript without text");
  return { answer: { body: JSON.stringify(body), isJson: true }, usage: readMediaUsage(body), texts: [text] };
}

function adapterOf(provider: Provider, operation: AudioForm["operation"]): FormAdapter {
  const adapter = provider[operation];
  if (!adapter) throw new Error(`${provider.kind} has no ${operation}`);
  return adapter;
}
