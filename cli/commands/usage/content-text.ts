import { valueAt } from "../../output/values.ts";

/** Prompt and answer as people read them: a line for the role, then its text; other fields as JSON. */
export function contentText(content: unknown): string {
  const [prompt, answer] = [valueAt(content, "prompt"), valueAt(content, "answer")];
  const cut = (name: string) => (valueAt(content, name) === true ? ["[cut at 64 KB]"] : []);
  return [
    ...partsOf(prompt),
    ...cut("promptTruncated"),
    ...(answer === null ? ["[no answer, or one that is not text]"] : partsOf(answer)),
    ...cut("answerTruncated"),
  ].join("\n\n");
}

function partsOf(fields: unknown): string[] {
  const { messages, choices, ...rest } = fields as Readonly<Record<string, unknown>>;
  const said = [...listOf(messages), ...listOf(choices).map((choice) => valueAt(choice, "message") ?? choice)].map(messageText);
  return [...Object.entries(rest).map(([name, value]) => `${name}:\n${textOf(value)}`), ...said];
}

function messageText(message: unknown): string {
  const { role, content, text, ...rest } = message as Readonly<Record<string, unknown>>;
  const others = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
  const extra = others.length > 0 ? [JSON.stringify(Object.fromEntries(others))] : [];
  return [`${textOf(role ?? "text")}:`, ...[content ?? text ?? ""].map(textOf).filter((line) => line !== ""), ...extra].join("\n");
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
