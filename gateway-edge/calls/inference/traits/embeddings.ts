import type { EmbeddingsAnswer, Fields } from "../../../upstream/providers/provider.ts";
import type { Job, JobTraits } from "../job.ts";
import { isText, mapTextOrTexts } from "./completions.ts";
import { readTexts, replaceTexts, type TextMapper } from "./text-mapper.ts";

type Input = readonly string[] | readonly (readonly number[])[];

/** The input is text and the answer is numbers: guardrails read the input only. Each input can be cached and requested alone. */
export function embeddingsTraits(
  { request, input }: { request: Fields; input: Input },
  over: (input: Input) => Job<EmbeddingsAnswer>,
): JobTraits<EmbeddingsAnswer> {
  return {
    request: { ...request, input },
    prompt: {
      // A getter, because most calls have no guardrails.
      get texts() {
        return isText(input) ? readTexts(mapInput, input) : undefined;
      },
      withTexts: (texts) => over(replaceTexts(mapInput, input, texts)),
    },
    cacheable: { isWhole: ({ vectors }) => vectors.length === input.length },
    batch: {
      count: input.length,
      only: (places) => over(places.map((place) => input[place]) as unknown as Input),
      split: ({ vectors }) => vectors.map((vector) => ({ vectors: [vector], usage: undefined })),
      join: (answers) => ({ vectors: answers.flatMap(({ vectors }) => vectors), usage: undefined }),
    },
  };
}

const mapInput: TextMapper<Input> = (input, map) => mapTextOrTexts(input, map) as Input;
