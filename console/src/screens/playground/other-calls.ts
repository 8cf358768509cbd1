import type { Model } from "../../api/types.ts";
import { answersChat } from "./choose-models.ts";
import type { SentRequest } from "./code-examples.ts";

export type CallKind = "embedding" | "rerank" | "image" | "audio_speech";

export interface CallField {
  readonly name: string;
  readonly label: string;
  readonly isLong?: true;
  readonly initial: string;
  readonly choices?: readonly string[];
}

/** A call beside chat: its form, the request that it makes, and how its answer is shown. */
export interface OtherCall {
  readonly label: string;
  readonly path: string;
  readonly fields: readonly CallField[];
  readonly body: (values: Readonly<Record<string, string>>) => Record<string, unknown>;
  readonly shows: "json" | "images" | "audio";
}

const linesOf = (text: string | undefined): string[] => (text ?? "").split("\n").filter((line) => line.trim() !== "");

export const OTHER_CALLS: Readonly<Record<CallKind, OtherCall>> = {
  embedding: {
    label: "Embeddings",
    path: "/v1/embeddings",
    fields: [{ name: "input", label: "Texts, one per line", isLong: true, initial: "hello river" }],
    body: ({ input }) => ({ input: linesOf(input) }),
    shows: "json",
  },
  rerank: {
    label: "Rerank",
    path: "/v1/rerank",
    fields: [
      { name: "query", label: "Query", initial: "Where does the river end?" },
      { name: "documents", label: "Documents, one per line", isLong: true, initial: "A river ends in the sea.\nA mill turns in the wind." },
    ],
    body: ({ query, documents }) => ({ query, documents: linesOf(documents) }),
    shows: "json",
  },
  image: {
    label: "Images",
    path: "/v1/images/generations",
    fields: [
      { name: "prompt", label: "Prompt", isLong: true, initial: "A river delta from above" },
      { name: "size", label: "Size", initial: "1024x1024", choices: ["256x256", "512x512", "1024x1024", "1536x1024", "1024x1536"] },
    ],
    body: ({ prompt, size }) => ({ prompt, size, n: 1 }),
    shows: "images",
  },
  audio_speech: {
    label: "Speech",
    path: "/v1/audio/speech",
    fields: [
      { name: "input", label: "Text", isLong: true, initial: "The river runs to the sea." },
      { name: "voice", label: "Voice", initial: "alloy" },
    ],
    body: ({ input, voice }) => ({ input, voice, response_format: "mp3" }),
    shows: "audio",
  },
};

export const isCallKind = (kind: string): kind is CallKind => Object.hasOwn(OTHER_CALLS, kind);

/** Kinds that have a model here, in the order of the table. */
export function offeredKinds(models: readonly Model[]): CallKind[] {
  return (Object.keys(OTHER_CALLS) as CallKind[]).filter((kind) => modelsOf(kind, models).length > 0);
}

export const modelsOf = (kind: CallKind, models: readonly Model[]): string[] => [
  ...new Set(models.filter(({ type }) => type === kind).map(({ name }) => name)),
];

/** The form that a model needs: a kind, or undefined for chat and for models that the catalog does not have. */
export function kindOf(name: string | undefined, models: readonly Model[]): CallKind | undefined {
  const found = models.filter((model) => model.name === name);
  if (found.some(answersChat)) return undefined;
  return found.map(({ type }) => type).find(isCallKind);
}

export const requestOf = (kind: CallKind, model: string, values: Readonly<Record<string, string>>): SentRequest => ({
  path: OTHER_CALLS[kind].path,
  body: { model, ...OTHER_CALLS[kind].body(values) },
});

export const initialValues = (kind: CallKind): Record<string, string> =>
  Object.fromEntries(OTHER_CALLS[kind].fields.map(({ name, initial }) => [name, initial]));
