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

  /** The same text as part of another choice. */
  inChoice(choice: number): PlainText {
    return new PlainText(choice, this.#json);
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

/** A part of a stream as one of another choice. Text is no plain object: a copy of its fields would have no text. */
export function inChoice<Part extends { readonly type: string }>(part: Part, choice: number): Part {
  return part instanceof PlainText ? (part.inChoice(choice) as unknown as Part) : { ...part, choice };
}
