import { AppError } from "../../../../common/errors.ts";
import type { EmbeddingsInput, EmbeddingsRequest } from "../../../schemas/calls/embeddings.ts";
import type { EmbeddingsAdapter, EmbeddingsAnswer, Provider } from "../../../upstream/providers/provider.ts";
import { malformed } from "../../../upstream/providers/shared/json-fields.ts";
import type { Job, JobAnswer } from "../job.ts";
import { joinedUsage } from "../joined-usage.ts";
import { keepSupported } from "../params.ts";
import { embeddingsTraits } from "../traits/embeddings.ts";
import { logTagsOf, providerFields, tagsOf } from "./gateway-fields.ts";

export function embeddingsJob({ request, input }: { request: EmbeddingsRequest; input: EmbeddingsInput }): Job<EmbeddingsAnswer> {
  return {
    operation: "embeddings",
    model: request.model,
    stream: false,
    choiceCount: 1,
    maxOutputTokens: 0,
    endUser: request.user ?? undefined,
    tags: tagsOf(request),
    logTags: logTagsOf(request),
    countInput: (counter) =>
      input.reduce<number>((sum, entry) => sum + (typeof entry === "string" ? counter.countText(entry) : entry.length), 0),
    isOfferedBy: (provider) => provider.embeddings !== undefined,
    request: ({ provider, target, dropParams }) => {
      const adapter = adapterOf(provider);
      if (!adapter.takesTokens && typeof input[0] !== "string") {
        throw new AppError("INVALID_REQUEST", "The model takes text, not tokens.", { param: "input" });
      }
      const supported = [...adapter.supportedParams(target.inferenceModelId), "encoding_format"];
      const { model: _model, input: _input, ...fields } = keepSupported(providerFields(request), supported, dropParams);
      return adapter.buildRequest({ input, dimensions: request.dimensions ?? undefined, body: fields }, target);
    },
    pieces: (provider, target) => {
      const size = adapterOf(provider).batchMax?.(target.inferenceModelId) ?? input.length;
      return input.length > size
        ? { jobs: batchesOf(input, size).map((batch) => embeddingsJob({ request, input: batch })), join }
        : undefined;
    },
    readAnswer: (provider, body) => {
      const answer = adapterOf(provider).readAnswer(body);
      // A vector that is missing would move those after it to other inputs.
      if (answer.vectors.length !== input.length) throw malformed("another number of vectors than of inputs");
      return { answer, usage: answer.usage, texts: [] };
    },
    readStream: () => {
      throw new Error("embeddings have no stream");
    },
    traits: () => embeddingsTraits({ request, input }, (changed) => embeddingsJob({ request, input: changed })),
  };
}

function batchesOf(input: EmbeddingsInput, size: number): EmbeddingsInput[] {
  const count = Math.ceil(input.length / size);
  return Array.from({ length: count }, (_, index) => input.slice(index * size, (index + 1) * size) as EmbeddingsInput);
}

function join(answers: readonly JobAnswer<EmbeddingsAnswer>[]): JobAnswer<EmbeddingsAnswer> {
  const usage = joinedUsage(answers.map((answer) => answer.usage));
  return { answer: { vectors: answers.flatMap(({ answer }) => answer.vectors), usage }, usage, texts: [] };
}

function adapterOf(provider: Provider): EmbeddingsAdapter {
  if (!provider.embeddings) throw new Error(`${provider.kind} has no embeddings`);
  return provider.embeddings;
}
