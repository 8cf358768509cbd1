import type { ChatMessage, TokenCounter } from "../../upstream/providers/provider.ts";
import { targetOf } from "../../upstream/target.ts";
import { countPieces } from "../tokens/byte-pairs.ts";
import type { TextCounter } from "../tokens/counted-text.ts";
import { countTokens, type EncodingName, encodingOf, loadedVocabulary, SPLITS, vocabularyOf } from "../tokens/token-counter.ts";
import type { ServedDeployment } from "./call-row.ts";
import type { Job } from "./job.ts";

/**
 * How the text of an answer is counted where its provider does not report it: as the provider counts where that is known here, else by the
 * vocabulary of the model, which for models of other houses than OpenAI is o200k.
 */
export function textCounterOf(served: ServedDeployment | undefined): TextCounter {
  const own = served?.provider.counter;
  return own ? ownCounter(own) : vocabularyCounter(encodingOf(modelOf(served)));
}

/** A provider's own way of counting: exact at once. */
export function ownCounter({ countText }: TokenCounter): TextCounter {
  return { isReady: () => true, countNow: countText, countWithLoaded: countText, count: countText };
}

/** Texts up to this length are counted without a pause. */
const AT_ONCE_CHARACTERS = 4096;

/** Counts by a vocabulary, which is loaded by the first call that needs it. Until then a count without waiting is one of pieces, which is too low. */
export function vocabularyCounter(encoding: EncodingName): TextCounter {
  const pieces = (text: string) => countPieces(text, SPLITS[encoding]);
  const loadedOrLoading = () => {
    const vocabulary = loadedVocabulary(encoding);
    // A failure shows where the count is waited for.
    if (!vocabulary) vocabularyOf(encoding).catch(() => undefined);
    return vocabulary;
  };
  const countWaiting = async (text: string) => {
    try {
      return await (await vocabularyOf(encoding)).count(text);
    } catch {
      // The call is settled whatever happens to the files of the vocabulary.
      return pieces(text);
    }
  };
  return {
    isReady: () => loadedVocabulary(encoding) !== undefined,
    countNow: (text) => loadedOrLoading()?.countNow(text) ?? pieces(text),
    countWithLoaded: (text) => loadedVocabulary(encoding)?.countNow(text) ?? pieces(text),
    count: (text) => {
      if (text === "") return 0;
      const vocabulary = text.length <= AT_ONCE_CHARACTERS ? loadedVocabulary(encoding) : undefined;
      return vocabulary ? vocabulary.countNow(text) : countWaiting(text);
    },
  };
}

/** The tokens of a request by the vocabulary of the model that answered it. */
export async function countRequest(job: Job<unknown>, served: ServedDeployment): Promise<number> {
  const texts: string[] = [];
  const conversations: (readonly ChatMessage[])[] = [];
  const collecting: TokenCounter = {
    countText: (text) => {
      texts.push(text);
      return 0;
    },
    countMessages: (messages) => {
      conversations.push(messages);
      return 0;
    },
  };
  const model = modelOf(served);
  const counter = vocabularyCounter(encodingOf(model));
  // What came as tokens is counted by the job itself.
  let tokens = job.countInput(collecting);
  for (const text of texts) tokens += await counter.count(text);
  for (const messages of conversations) tokens += await countTokens(model, { messages });
  return tokens;
}

function modelOf(served: ServedDeployment | undefined): string {
  if (!served) return "";
  const { inferenceModelId, params } = targetOf(served.attempt.deployment);
  const base = params["base_model"];
  return typeof base === "string" ? base : inferenceModelId;
}
