import type { StreamPart } from "../provider.ts";

type TextDelta = Extract<StreamPart, { type: "text-delta" }>;

/**
 * Text of a stream as the upstream wrote it: a JSON string that is sent to the client byte for byte. It is decoded only when it is read:
 * most streams report their usage, and their text is never read.
 */
export class PlainText implements TextDelta {
  readonly type = "text-delta";
  readonly choice: number;
  // Private, so that a copy with another text can never include the old one.
  readonly #json: string;

  constructor(choice: number, json: string) {
    this.choice = choice;
    this.#json = json;
  }

  get text(): string {
    // Most texts have nothing to decode.
    return this.#json.includes("\\") ? (JSON.parse(this.#json) as string) : this.#json.slice(1, -1);
  }

  get json(): string {
    return this.#json;
  }

  /** Serialized it looks like any other part. */
  toJSON(): TextDelta {
    return { type: this.type, choice: this.choice, text: this.text };
  }
}

/** The text of a part as a JSON string. */
export function encodedText(part: TextDelta): string {
  return part instanceof PlainText ? part.json : JSON.stringify(part.text);
}
