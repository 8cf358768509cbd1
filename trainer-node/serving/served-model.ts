import { type Manifest, readServedId, TRAINED_TYPES } from "../../common/training/trained-manifest.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { byteCount, cutAnswer, labelOf } from "./answers.ts";
import type { TextRequest } from "./requests.ts";
import type { ServedModel } from "./servable.ts";
import type { PredictAnswer, ServeRequest, WriteAnswer } from "./serve-request.ts";
import { servedFunction } from "./served-function.ts";
import { type Ending, writeText } from "./write-text.ts";

const NEVER = new AbortController().signal;

/** Opens the model of an id, after fetching its parameters. */
export async function openServedModel(
  id: string,
  { servingPool, fetchParameters, callFunction }: Pick<TrainerDeps, "servingPool" | "fetchParameters" | "callFunction">,
): Promise<ServedModel> {
  const manifest = requireManifest(id);
  if (manifest.federation) return servedFunction(manifest, callFunction);
  await fetchParameters(manifest);
  // These tasks are short, so a client that disconnects does not end the thread and its loaded models.
  const run = async <Answer>(request: ServeRequest): Promise<Answer> => {
    const { body } = await servingPool.run({ type: "serve", request }, { signal: NEVER });
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")) as Answer;
  };
  const predict = (texts: readonly string[]) => run<PredictAnswer>({ type: "predict", id, manifest, texts });
  const isWriter = TRAINED_TYPES[manifest.task] === "completion";

  async function* label({ input, bytesMax }: TextRequest): AsyncGenerator<string, Ending> {
    const [prediction] = await predict([input]);
    if (!prediction || "vector" in prediction)
      throw new TrainerError("VALIDATION_ERROR", "This model computes embeddings, not text. Call /v1/embeddings.");
    const { shown, ending } = cutAnswer(labelOf(prediction, manifest), bytesMax);
    yield shown;
    return ending;
  }

  return {
    manifest,
    predict,
    text: (request, { seed, signal }) =>
      isWriter
        ? writeText({
            ...request,
            signal,
            sampling: { temperature: request.temperature, topP: request.topP, seed },
            next: (piece) => run<WriteAnswer>({ type: "write", id, manifest, ...piece }),
          })
        : label(request),
    inputBytes: ({ prompt, input }) => byteCount(isWriter ? prompt : input),
  };
}

function requireManifest(id: string): Manifest {
  const manifest = readServedId(id);
  if (!manifest) throw new TrainerError("NOT_FOUND", "The path does not contain a valid manifest of a served model.");
  return manifest;
}
