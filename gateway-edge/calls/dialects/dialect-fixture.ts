import fc from "fast-check";
import { nanoUsd } from "../../../common/money.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { ChatAnswer, Fields, StreamPart } from "../../upstream/providers/provider.ts";
import type { Bill } from "../inference/bill.ts";

type Part = Exclude<StreamPart, { type: "usage" }>;

/** One answer in two forms: as the parts of a stream and as a whole. */
export interface AnswerAndParts {
  readonly parts: readonly Part[];
  readonly answer: ChatAnswer;
}

export const bill: Bill = {
  usage: { ...NO_USAGE, input: 10, cachedInput: 4, cacheWrite: 2, output: 7, reasoning: 3, source: "provider" },
  cost: nanoUsd(42n),
};

const texts = fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 4 });
const call = fc.record({ name: fc.constantFrom("f", "g"), value: fc.string(), cuts: fc.array(fc.nat(30), { maxLength: 3 }) });

/** Answers of every form: thinking with and without a signature, text, tool calls in fragments, every finish reason. */
export const anyAnswer: fc.Arbitrary<AnswerAndParts> = fc
  .record({
    thoughts: texts,
    signature: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
    words: texts,
    calls: fc.array(call, { maxLength: 3 }),
    finishReason: fc.constantFrom("stop", "length", "content_filter"),
  })
  .map(({ thoughts, signature, words, calls, finishReason }) => {
    const thought = thoughts.join("");
    const isSealed = signature !== undefined && thought !== "";
    const block = { type: "thinking", thinking: thought, signature };
    const written = calls.map(({ name, value }, index) => ({ id: `call_${index}`, name, text: JSON.stringify({ value }) }));
    const reason = calls.length > 0 && finishReason === "stop" ? "tool_calls" : finishReason;
    const parts: Part[] = [
      ...thoughts.map((text) => other({ reasoning_content: text }, text)),
      ...(isSealed ? [other({ thinking_blocks: [{ index: 0, ...block }] }, "")] : []),
      ...words.map((text): Part => ({ type: "text-delta", choice: 0, text })),
      ...written.flatMap((each, index) => callParts(each, index, calls[index]?.cuts ?? [])),
      { type: "finish", choice: 0, reason },
    ];
    const message = {
      content: words.length > 0 ? words.join("") : null,
      ...(thought === "" ? {} : { reasoning_content: thought }),
      ...(isSealed ? { thinking_blocks: [block] } : {}),
      ...(written.length === 0
        ? {}
        : { tool_calls: written.map(({ id, name, text }) => ({ id, type: "function", function: { name, arguments: text } })) }),
    };
    return { parts, answer: { choices: [{ index: 0, message, finishReason: reason, logprobs: null }], usage: undefined } };
  });

function callParts({ id, name, text }: { id: string; name: string; text: string }, index: number, cuts: readonly number[]): Part[] {
  const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).toSorted((left, right) => left - right), text.length];
  const fragments = at.slice(1).map((end, position) => text.slice(at[position], end));
  const first = { index, id, type: "function", function: { name, arguments: "" } };
  return [
    other({ tool_calls: [first] }, name),
    ...fragments.map((piece) => other({ tool_calls: [{ index, function: { arguments: piece } }] }, piece)),
  ];
}

function other(fields: Fields, text: string): Part {
  return { type: "other-delta", choice: 0, fields, text };
}

/** Events of a stream, each with its name before its data. */
export function readNamedEvents(stream: string): (Fields & { type: string })[] {
  return stream
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const [name, data, ...rest] = frame.split("\n");
      if (!name?.startsWith("event: ") || !data?.startsWith("data: ") || rest.length > 0) throw new Error(`not a named event: ${frame}`);
      const event = JSON.parse(data.slice(6)) as Fields & { type: string };
      if (event.type !== name.slice(7)) throw new Error(`an event of two names: ${frame}`);
      return event;
    });
}
