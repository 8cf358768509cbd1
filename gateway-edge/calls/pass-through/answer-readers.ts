import type { ChatCall, Fields, Provider, ReportedUsage, StreamPart, UpstreamEvent } from "../../upstream/providers/provider.ts";
import { asFields } from "../../upstream/providers/shared/json-fields.ts";
import { readMediaUsage } from "../../upstream/providers/shared/media-usage.ts";
import { readOpenAiUsage } from "../../upstream/providers/shared/openai-usage.ts";
import { textOf } from "../inference/jobs/chat.ts";

/** Reads the answers of one operation for their bill, as the adapter of a call that does not pass through does. */
export interface AnswerReader {
  /** Throws for an answer that is none. */
  whole(body: unknown, request: Fields): { readonly usage: ReportedUsage | undefined; readonly text: string };
  /** Throws when a stream ends before its answer does. Absent: no output is text, so none is counted. */
  streamed?(events: AsyncIterable<UpstreamEvent>, request: Fields): AsyncIterable<StreamPart>;
  /** What a stream's first event reports: its input, if the end is not read. */
  opening?(data: Fields): ReportedUsage | undefined;
}

/** By the chat adapter of a provider. */
export function chatReader({ kind, chat }: Provider, opening?: AnswerReader["opening"]): AnswerReader {
  const adapter = present(chat, kind);
  return {
    whole: (body, request) => {
      const { choices, usage } = adapter.readAnswer(body, callOf(request));
      return { usage, text: choices.map(({ message }) => textOf(message)).join("") };
    },
    streamed: (events, request) => adapter.readStream(events, callOf(request)),
    ...(opening && { opening }),
  };
}

/** By the adapter of an API that passes unchanged elsewhere, too. */
export function proxiedReader(provider: Provider, api: "responses" | "messages", opening?: AnswerReader["opening"]): AnswerReader {
  const adapter = present(provider[api], provider.kind);
  return {
    whole: (body) => adapter.readAnswer(body),
    streamed: (events) => adapter.readStream(events),
    ...(opening && { opening }),
  };
}

export function completionsReader({ kind, completions }: Provider): AnswerReader {
  const adapter = present(completions, kind);
  return {
    whole: (body) => {
      const { choices, usage } = adapter.readAnswer(body);
      return { usage, text: choices.map(({ text }) => text).join("") };
    },
    streamed: (events) => adapter.readStream(events),
  };
}

/** Vectors and scores, of which only the input is billed. */
export function vectorReader(usageIn: (answer: Fields) => ReportedUsage | undefined): AnswerReader {
  return { whole: (body) => ({ usage: usageIn(asFields(body)), text: "" }) };
}

export const openAiVectors = vectorReader(({ usage }) => readOpenAiUsage(usage));

/** For paths that only the master key may call. */
export const ANY_READER = vectorReader(readMediaUsage);

/** The messages are not read: they are only for ids of tool calls, which no bill has. */
function callOf(request: Fields): ChatCall {
  return { body: { ...request, messages: [] }, stream: request["stream"] === true, maxOutputTokens: 0 };
}

function present<Adapter>(adapter: Adapter | undefined, kind: string): Adapter {
  if (!adapter) throw new Error(`${kind} does not have this operation`);
  return adapter;
}
