import type { StreamPart } from "../provider.ts";

type TextDelta = Extract<StreamPart, { type: "text-delta" }>;

/**
 * Text of a stream as the upstream wrote it: a JSON string that goes to the client byte for byte. It is decoded only when somebody
 * wants to read it: most streams report their usage, and nobody does.
 */
export class PlainText implements TextDelta {
  readonly type = "text-delta";
  readonly choice: number;
  // Hidden, so that a copy with another text can never carry the old one along.
  readonly #json: string;

  constructor(choice: number, json: string) {
    this.choice = choice;
    this.#json = json;
  }

  get text(): string {
    return JSON.parse(this.#json) as string;
  }

  get json(): string {
    return this.#json;
  }

  /** Written out it looks like any other part. */
  toJSON(): TextDelta {
    return { type: this.type, choice: this.choice, text: this.text };
  }
}

/** The text of a part as a JSON string. */
export function encodedText(part: TextDelta): string {
  return part instanceof PlainText ? part.json : JSON.stringify(part.text);
}
