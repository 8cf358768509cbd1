import type { Model } from "../../api/types.ts";

/** Chat models, and trained models of any type but embedding: they take a row or a text and return a label or a text. */
export const answersChat = ({ type, trained }: Pick<Model, "type" | "trained">): boolean =>
  type === "chat" || (trained !== null && type !== "embedding");

/** Model names for the playground, chat models first, so that a chat model is the default. */
export function playgroundModels(models: readonly Model[]): string[] {
  const chat = models.filter(({ type }) => type === "chat");
  const names = [...chat, ...models.filter(answersChat)].map(({ name }) => name);
  return [...new Set(names)];
}

/** Model names in the URL, `models=a,b` or `model=a`. */
export function namedModels({ models, model }: { models?: unknown; model?: unknown }): string[] {
  return String(models ?? model ?? "")
    .split(",")
    .filter(Boolean);
}

/** Why a model cannot be used in the playground; undefined if it can, or if the catalog does not have it. */
export function chatProblem(name: string, models: readonly Model[]): string | undefined {
  const found = models.filter((model) => model.name === name);
  if (found.length === 0 || found.some(answersChat)) return undefined;
  return `${name} is of type ${found[0]?.type.replaceAll("_", " ")} and does not support chat. Choose a model from the list.`;
}

/** The input format of a trained model, by its task. */
export function inputHint({ trained }: { readonly trained: { readonly task: string } | null }): string | undefined {
  switch (trained?.task) {
    case undefined:
      return undefined;
    case "text_classifier":
      return "Send a text. The response is its label.";
    case "byte_lm":
      return "Send the start of a text. The model continues it.";
    case "linear":
      return "Send one row as JSON, such as [0.5, 1, 0]. The response is the predicted number.";
    default:
      return "Send one row as JSON, such as [0.5, 1, 0]. The response is its label.";
  }
}
