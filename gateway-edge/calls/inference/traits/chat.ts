import type { ChatAnswer, Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import type { AnswerTraits, CacheableTraits, Job, JobTraits, PromptTraits } from "../job.ts";
import { mapChatAnswer, mapMessages } from "./message-texts.ts";
import { gatherChoices, isWhole, textDeltas } from "./streamed-choices.ts";
import { readTexts, replaceTexts } from "./text-mapper.ts";

export function chatTraits(request: Fields, over: (request: Fields) => Job<ChatAnswer>): JobTraits<ChatAnswer> {
  return { request, prompt: new ChatPrompt(request, over), cacheable: chatCacheable };
}

/** Most calls have no guardrails, which alone read the texts. */
class ChatPrompt implements PromptTraits<ChatAnswer> {
  readonly answer = ANSWER;
  readonly #request: Fields;
  readonly #over: (request: Fields) => Job<ChatAnswer>;

  constructor(request: Fields, over: (request: Fields) => Job<ChatAnswer>) {
    this.#request = request;
    this.#over = over;
  }

  get texts(): readonly string[] {
    return readTexts(mapMessages, this.#request);
  }

  withTexts(texts: readonly string[]): Job<ChatAnswer> {
    return this.#over(replaceTexts(mapMessages, this.#request, texts));
  }
}

const ANSWER: AnswerTraits<ChatAnswer> = {
  texts: (answer) => readTexts(mapChatAnswer, answer),
  withTexts: (answer, texts) => replaceTexts(mapChatAnswer, answer, texts),
};

export const chatCacheable: CacheableTraits<ChatAnswer> = { isWhole: ({ choices }) => isWhole(choices), assemble, replay };

function assemble(parts: readonly StreamPart[]): ChatAnswer {
  const choices = gatherChoices(parts).map(({ index, text, fields, finishReason, logprobs }) => ({
    index,
    message: { content: text === "" ? null : text, ...withoutIndexes(fields) },
    finishReason: finishReason ?? "error",
    logprobs,
  }));
  return { choices, usage: undefined };
}

/** Tool calls have an index in a stream and none in a whole answer. */
function withoutIndexes(fields: Fields): Fields {
  const calls = fields["tool_calls"];
  if (!Array.isArray(calls)) return fields;
  return { ...fields, tool_calls: calls.map(({ index: _index, ...call }: Record<string, unknown>) => call) };
}

function replay({ choices }: ChatAnswer): StreamPart[] {
  return choices.flatMap(({ index, message, finishReason, logprobs }): StreamPart[] => {
    const { content, reasoning_content: reasoning, thinking_blocks: sealed, role: _role, ...rest } = message;
    const others = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
    const fields = withIndexes(Object.fromEntries(others));
    return [
      ...(typeof reasoning === "string" ? [otherDelta(index, { reasoning_content: reasoning }, reasoning)] : []),
      // The signature of a thinking block comes before the text, as in the original stream.
      ...(Array.isArray(sealed) ? [otherDelta(index, { thinking_blocks: sealed }, "")] : []),
      ...(typeof content === "string" ? textDeltas(index, content, logprobs) : []),
      ...(others.length > 0 ? [otherDelta(index, fields, JSON.stringify(fields))] : []),
      { type: "finish", choice: index, reason: finishReason },
    ];
  });
}

function otherDelta(choice: number, fields: Fields, text: string): StreamPart {
  return { type: "other-delta", choice, fields, text };
}

function withIndexes(fields: Fields): Fields {
  const calls = fields["tool_calls"];
  return Array.isArray(calls) ? { ...fields, tool_calls: calls.map((call: Fields, index) => ({ index, ...call })) } : fields;
}
