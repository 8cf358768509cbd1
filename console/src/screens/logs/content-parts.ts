/** A message of a prompt or an answer, or another field of it. */
export interface ContentPart {
  readonly key: string;
  readonly title: string;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Prompt or answer in the order in which people read it: system text and other fields, then messages by role. */
export function contentParts({ messages, choices, ...rest }: Fields): ContentPart[] {
  const fields = Object.entries(rest).map(([name, value]) => ({ title: name, text: textOf(value) }));
  const said = [...listOf(messages), ...listOf(choices).map((choice) => choice["message"] ?? choice)].map((message) =>
    partOf(message as Fields),
  );
  return [...fields, ...said].map((part, index) => ({ key: `${index} ${part.title}`, ...part }));
}

function partOf({ role, content, text, ...rest }: Fields): Omit<ContentPart, "key"> {
  const others = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
  const lines = [textOf(content ?? text ?? ""), others.length > 0 ? JSON.stringify(Object.fromEntries(others), null, 2) : ""];
  return { title: typeof role === "string" ? role : "text", text: lines.filter((line) => line !== "").join("\n") };
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
