import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";
import type { Fields } from "../../upstream/providers/provider.ts";
import { createVocabulary, type Split, splitOf, type Vocabulary } from "./byte-pairs.ts";
import { CountingPace } from "./counting-pace.ts";
import { readRanks } from "./published-ranks.ts";

export type EncodingName = "o200k_base" | "cl100k_base";

/** What is counted: a text, or a conversation in OpenAI's, Anthropic's or Google's format. */
export interface Countable {
  readonly prompt?: string | undefined;
  readonly messages?: readonly Fields[] | undefined;
  readonly contents?: readonly Fields[] | undefined;
  readonly system?: unknown;
  readonly tools?: readonly unknown[] | undefined;
}

// OpenAI's rule for chat: the tokens around each message, for a name, and for the start of the answer.
const MESSAGE_TOKENS = 3;
const NAME_TOKENS = 1;
const ANSWER_START_TOKENS = 3;
// An image of low detail; the cost of a high-detail one depends on its size, which is not read here.
const IMAGE_TOKENS = 85;

/** Counts as the model would, in the pace of its caller, by OpenAI's vocabularies; for models of other vendors it is an estimate. */
export async function countTokens(model: string, countable: Countable, pace = new CountingPace()): Promise<number> {
  const vocabulary = await vocabularyOf(encodingOf(model));
  const count = (text: string) => vocabulary.count(text, pace);
  const { prompt, contents, system, tools } = countable;
  const messages = [...(countable.messages ?? []), ...(contents ?? []).map(asMessage)];
  let total = prompt === undefined ? 0 : await count(prompt);
  if (messages.length > 0) total += ANSWER_START_TOKENS;
  if (system !== undefined && system !== null) messages.unshift({ role: "system", content: system });
  for (const message of messages) total += await countMessage(message, { count, pace });
  if (tools && tools.length > 0) total += await count(JSON.stringify(tools));
  return total;
}

/** The vocabulary of a model: cl100k for gpt-4, gpt-3.5 and embedding models of that time; o200k for all later and all other models. */
export function encodingOf(model: string): EncodingName {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return /^(ft:)?(gpt-4(?![o.])|gpt-3\.5|gpt-35|text-embedding-(ada-002|3-)|davinci-002|babbage-002)/.test(name)
    ? "cl100k_base"
    : "o200k_base";
}

const loading = new Map<EncodingName, Promise<Vocabulary>>();
const loaded = new Map<EncodingName, Vocabulary>();

/** About 15 MB and 150 ms each, in steps: loaded on first use. */
export function vocabularyOf(encoding: EncodingName): Promise<Vocabulary> {
  const known = loading.get(encoding);
  if (known) return known;
  const vocabulary = load(encoding);
  loading.set(encoding, vocabulary);
  return vocabulary;
}

/** The vocabulary, if it is already loaded. */
export function loadedVocabulary(encoding: EncodingName): Vocabulary | undefined {
  return loaded.get(encoding);
}

async function load(encoding: EncodingName): Promise<Vocabulary> {
  try {
    const vocabulary = createVocabulary(await readRanks(await publishedRanks(encoding)), SPLITS[encoding]);
    loaded.set(encoding, vocabulary);
    return vocabulary;
  } catch (error) {
    // The next request tries again.
    loading.delete(encoding);
    throw error;
  }
}

/** How a vocabulary splits a text before merging; needs no loading. */
export const SPLITS: Readonly<Record<EncodingName, Split>> = {
  o200k_base: splitOf(O200K_TOKEN_SPLIT_REGEX),
  cl100k_base: splitOf(CL100K_TOKEN_SPLIT_REGEX),
};

/** The file that the package publishes beside its modules. Those are parsed in one go, which delays every other call by 150 ms. */
async function publishedRanks(encoding: EncodingName): Promise<Uint8Array> {
  return await readFile(createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${encoding}.tiktoken`));
}

interface Counting {
  readonly pace: CountingPace;
  count(text: string): Promise<number>;
}

/** A value takes about as long as so many characters, however short it is. */
const VALUE_CHARACTERS = 16;

async function countMessage(message: Fields, counting: Counting): Promise<number> {
  let total = MESSAGE_TOKENS;
  for (const [field, value] of Object.entries(message)) {
    if (value === undefined || value === null) continue;
    if (field === "name") total += NAME_TOKENS;
    total += await countValue(value, counting);
  }
  return total;
}

/** All texts in a value; media count as the smallest of their kind, never by the characters of their data. */
async function countValue(value: unknown, counting: Counting): Promise<number> {
  if (counting.pace.isOver(VALUE_CHARACTERS)) await counting.pace.rest();
  if (typeof value === "string") return await counting.count(value);
  if (Array.isArray(value)) {
    let total = 0;
    for (const item of value as unknown[]) total += await countValue(item, counting);
    return total;
  }
  if (typeof value !== "object" || value === null) return 0;
  if (isMedia(value as Fields)) return IMAGE_TOKENS;
  let total = 0;
  // The type and the id of a part belong to the wire format and are not sent to the model.
  for (const [field, inner] of Object.entries(value)) if (field !== "type" && field !== "id") total += await countValue(inner, counting);
  return total;
}

const MEDIA_URLS = ["image_url", "video_url", "document_url"];
const MEDIA_FIELDS = ["image_url", "video_url", "input_audio", "file", "source", "inlineData", "inline_data", "fileData", "file_data"];

function isMedia(part: Fields): boolean {
  return (
    MEDIA_FIELDS.some((field) => typeof part[field] === "object" && part[field] !== null) ||
    MEDIA_URLS.some((field) => typeof part[field] === "string")
  );
}

/** Google's content as a message: its parts are the content. */
function asMessage({ role, parts }: Fields): Fields {
  return { role: role ?? "user", content: parts };
}
