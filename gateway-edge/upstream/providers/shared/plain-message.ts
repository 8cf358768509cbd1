import type { Fields } from "../provider.ts";

/**
 * A message of text alone that also has its text as the upstream wrote it: a JSON string that is sent to the client byte for byte. To
 * serialize a long text again would cost several times as much as to parse it.
 */
class PlainMessage implements Fields {
  readonly [name: string]: unknown;
  readonly content: string;
  // Private, so that a copy with another text can never include the old one.
  readonly #json: string;

  constructor(content: string, json: string) {
    this.content = content;
    this.#json = json;
  }

  get json(): string {
    return this.#json;
  }
}

/** A message of text alone, out of the answer whose only choice it is, if that is known as text. */
export function plainMessage(content: string, answer: string | undefined): Fields {
  const json = answer === undefined ? undefined : contentIn(answer);
  return json === undefined ? { content } : new PlainMessage(content, json);
}

/** The content of a message as a JSON string. */
export function encodedContent(message: Fields): string {
  return message instanceof PlainMessage ? message.json : JSON.stringify(message["content"] ?? null);
}

const CONTENT = '"content"';

/**
 * The JSON string that is the only `content` of an answer which is valid JSON and has one. A quotation mark within a string is escaped, so
 * that no text looks like the name of a field; and without other escapes no name is written in another way.
 */
function contentIn(answer: string): string | undefined {
  const name = answer.indexOf(CONTENT);
  const start = name < 0 ? -1 : answer.indexOf('"', name + CONTENT.length);
  if (start < 0 || answer.slice(name + CONTENT.length, start).trim() !== ":") return undefined;
  const end = stringEnd(answer, start);
  if (answer.slice(0, start).includes("\\") || answer.includes("\\", end) || answer.includes(CONTENT, end)) return undefined;
  return answer.slice(start, end);
}

function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
}
