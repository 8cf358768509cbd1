import type { CompletionsAnswer, Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import type { Job, JobTraits } from "../job.ts";
import { gatherChoices, isWhole, textDeltas } from "./streamed-choices.ts";
import { readTexts, replaceTexts, type TextMapper } from "./text-mapper.ts";

export function completionsTraits(request: Fields, over: (request: Fields) => Job<CompletionsAnswer>): JobTraits<CompletionsAnswer> {
  return {
    request,
    prompt: {
      // A getter, because most calls have no guardrails.
      get texts() {
        return isText(request["prompt"]) ? readTexts(mapPrompt, request) : undefined;
      },
      withTexts: (texts) => over(replaceTexts(mapPrompt, request, texts)),
      answer: {
        texts: (answer) => readTexts(mapAnswer, answer),
        withTexts: (answer, texts) => replaceTexts(mapAnswer, answer, texts),
      },
    },
    cacheable: { isWhole: ({ choices }) => isWhole(choices), assemble, replay },
  };
}

/** A text or texts, not tokens. */
export function isText(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every((entry) => typeof entry === "string"));
}

/** One text or a list of them. */
export function mapTextOrTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  return Array.isArray(value) ? value.map((entry: unknown) => (typeof entry === "string" ? map(entry) : entry)) : value;
}

const mapPrompt: TextMapper<Fields> = (request, map) => {
  const { suffix } = request;
  return {
    ...request,
    prompt: mapTextOrTexts(request["prompt"], map),
    ...(typeof suffix === "string" ? { suffix: map(suffix) } : {}),
  };
};

const mapAnswer: TextMapper<CompletionsAnswer> = (answer, map) => ({
  ...answer,
  choices: answer.choices.map((choice) => {
    const text = map(choice.text);
    return { ...choice, text, logprobs: text === choice.text ? choice.logprobs : null };
  }),
});

function assemble(parts: readonly StreamPart[]): CompletionsAnswer {
  const choices = gatherChoices(parts).map(({ index, text, finishReason, logprobs }) => ({
    index,
    text,
    finishReason: finishReason ?? "error",
    logprobs,
  }));
  return { choices, usage: undefined };
}

function replay({ choices }: CompletionsAnswer): StreamPart[] {
  return choices.flatMap(({ index, text, finishReason, logprobs }): StreamPart[] => [
    ...textDeltas(index, text, logprobs),
    { type: "finish", choice: index, reason: finishReason },
  ]);
}
