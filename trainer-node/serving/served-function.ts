import type { Manifest } from "../../common/training/trained-manifest.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { byteCount, cutAnswer } from "./answers.ts";
import type { TextRequest } from "./requests.ts";
import type { ServedModel } from "./servable.ts";
import type { Ending } from "./write-text.ts";

/** A model that nodes of a federation serve with their own function. It gets all messages, so all of them are its input. */
export function servedFunction(manifest: Manifest, callFunction: TrainerDeps["callFunction"]): ServedModel {
  async function* text(request: TextRequest, { seed, signal }: { seed: number; signal: AbortSignal }): AsyncGenerator<string, Ending> {
    const { input, messages, bytesMax, temperature, topP, stop } = request;
    const config = { messages, max_tokens: bytesMax, temperature, top_p: topP, seed, stop };
    const { shown, ending } = cutAnswer(await callFunction(manifest, { input, config }, signal), bytesMax);
    yield shown;
    return ending;
  }
  return {
    manifest,
    predict: async () => {
      throw new TrainerError(
        "VALIDATION_ERROR",
        "This model is a function of its own nodes, which answers chat and text completions only.",
      );
    },
    text,
    inputBytes: ({ prompt }) => byteCount(prompt),
  };
}
