import type { BytesPart, StreamPart } from "../../upstream/providers/provider.ts";

type Finish = Extract<StreamPart, { type: "finish" }>;

/** The choices of a stream without a finish: if the gateway ends the stream, each gets a well-formed one. */
export class OpenChoices {
  readonly #count: number;
  readonly #finished = new Set<number>();

  constructor(count: number) {
    this.#count = count;
  }

  received(part: StreamPart | BytesPart): void {
    if (part.type === "finish") this.#finished.add(part.choice);
  }

  endings(cause?: Finish["cause"]): Finish[] {
    const choices = Array.from({ length: this.#count }, (_, choice) => choice);
    const why = cause === undefined ? {} : { cause };
    return choices.filter((choice) => !this.#finished.has(choice)).map((choice) => ({ type: "finish", choice, reason: "length", ...why }));
  }
}
