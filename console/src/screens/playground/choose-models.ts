import type { Model } from "../../api/types.ts";

/** Trained classifiers and language models answer chat too, whatever their type: a row or a text in, a label or a text out. */
export const answersChat = ({ type, trained }: Pick<Model, "type" | "trained">): boolean =>
  type === "chat" || (trained !== null && type !== "embedding");

/** The names that the playground lists, chat models first, so that one of them is chosen where the address names none. */
export function playgroundModels(models: readonly Model[]): string[] {
  const chat = models.filter(({ type }) => type === "chat");
  const names = [...chat, ...models.filter(answersChat)].map(({ name }) => name);
  return [...new Set(names)];
}

/** The names in the address, `models=a,b` or `model=a`. */
export function namedModels({ models, model }: { models?: unknown; model?: unknown }): string[] {
  return String(models ?? model ?? "")
    .split(",")
    .filter(Boolean);
}

/** Why a model that the address names cannot be tried here; undefined: it can, or the catalogue does not know it. */
export function whyNot(name: string, models: readonly Model[]): string | undefined {
  const found = models.filter((model) => model.name === name);
  if (found.length === 0 || found.some(answersChat)) return undefined;
  return `${name} is of type ${found[0]?.type.replaceAll("_", " ")} and does not answer chat. Choose a model of the list.`;
}

/** How to ask a trained model, by the task that it was trained with. */
export function howToAsk({ trained }: Pick<Model, "trained">): string | undefined {
  switch (trained?.task) {
    case undefined:
      return undefined;
    case "text_classifier":
      return "Send a text; the answer is its label.";
    case "byte_lm":
      return "Send the beginning of a text; the model continues it.";
    case "linear":
      return "Send one row as JSON, such as [0.5, 1, 0]; the answer is the predicted number.";
    default:
      return "Send one row as JSON, such as [0.5, 1, 0]; the answer is its label.";
  }
}
