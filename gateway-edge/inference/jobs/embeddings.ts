import { AppError } from "../../../common/errors.ts";
import type { EmbeddingsAdapter, EmbeddingsAnswer, Provider } from "../../providers/provider.ts";
import type { EmbeddingsInput, EmbeddingsRequest } from "../../schemas/embeddings.ts";
import { embeddingsFace } from "../faces/embeddings.ts";
import type { Job } from "../job.ts";
import { keepSupported } from "../params.ts";
import { providerFields, tagsOf } from "./gateway-fields.ts";

export function embeddingsJob({ request, input }: { request: EmbeddingsRequest; input: EmbeddingsInput }): Job<EmbeddingsAnswer> {
  return {
    operation: "embeddings",
    model: request.model,
    stream: false,
    choiceCount: 1,
    maxOutputTokens: 0,
    endUser: request.user ?? undefined,
    tags: tagsOf(request),
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
    readAnswer: (provider, body) => {
      const answer = adapterOf(provider).readAnswer(body);
      return { answer, usage: answer.usage, texts: [] };
    },
    readStream: () => {
      throw new Error("embeddings have no stream");
    },
    face: () => embeddingsFace({ request, input }, (changed) => embeddingsJob({ request, input: changed })),
  };
}

function adapterOf(provider: Provider): EmbeddingsAdapter {
  if (!provider.embeddings) throw new Error(`${provider.kind} has no embeddings`);
  return provider.embeddings;
}
