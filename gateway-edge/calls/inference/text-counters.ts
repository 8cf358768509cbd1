import { ignore } from "../../../common/ignore.ts";
import type { ChatMessage, TokenCounter } from "../../upstream/providers/provider.ts";
import { targetOf } from "../../upstream/target.ts";
import { countPieces } from "../tokens/byte-pairs.ts";
import type { TextCounter } from "../tokens/counted-text.ts";
import { countTokens, type EncodingName, encodingOf, loadedVocabulary, SPLITS, vocabularyOf } from "../tokens/token-counter.ts";
import type { ServedDeployment } from "./call-row.ts";
import { inputReads, type Job } from "./job.ts";

/**
 * How the text of an answer is counted where its provider reports no usage: by the provider's own counter where it is known, otherwise by
 * the vocabulary of the model, which is o200k for models of other vendors than OpenAI.
 */
export function textCounterOf(served: ServedDeployment | undefined): TextCounter {
  const own = served?.provider.counter;
  return own ? ownCounter(own) : vocabularyCounter(encodingOf(modelOf(served)));
}

/** A provider's own counter: exact without waiting. */
export function ownCounter({ countText }: TokenCounter): TextCounter {
  return { isReady: () => true, countNow: countText, countWithLoaded: countText, count: countText };
}

/** Texts up to this length are counted without a pause. */
const AT_ONCE_CHARACTERS = 4096;

/**
 * Counts by a vocabulary, which the first call that needs it loads. Until then a count without waiting is one of word pieces, which is too
 * low.
 */
export function vocabularyCounter(encoding: EncodingName): TextCounter {
  const pieces = (text: string) => countPieces(text, SPLITS[encoding]);
  const loadedOrLoading = () => {
    const vocabulary = loadedVocabulary(encoding);
    if (!vocabulary) void ignore(vocabularyOf(encoding), "a failure shows where the count is awaited");
    return vocabulary;
  };
  const countWaiting = async (text: string) => {
    try {
      return await (await vocabularyOf(encoding)).count(text);
    } catch {
      // The call is settled even if the vocabulary cannot be loaded.
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
  // A request that came as tokens is counted by the job itself.
  let tokens = job.countInput(collecting);
  for (const text of texts) tokens += await counter.count(text);
  for (const messages of conversations) tokens += await countTokens(model, { messages });
  return tokens * inputReads(job, served);
}

function modelOf(served: ServedDeployment | undefined): string {
  if (!served) return "";
  const { inferenceModelId, params } = targetOf(served.attempt.deployment);
  const base = params["base_model"];
  return typeof base === "string" ? base : inferenceModelId;
}
