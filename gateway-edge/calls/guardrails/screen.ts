import { AppError } from "../../../common/errors.ts";
import type { Fields, StreamPart } from "../../upstream/providers/provider.ts";
import type { Screen } from "../inference/run-call.ts";
import { mergeDeltas } from "../inference/traits/merge-deltas.ts";
import { mapMessage } from "../inference/traits/message-texts.ts";
import { readTexts, replaceTexts } from "../inference/traits/text-mapper.ts";
import { HeldText, type TextReaders } from "./held-text.ts";

/** How much of a stream may be held back by a guardrail that judges only whole texts. Longer answers end as blocked: no guardrail fails open. */
export const HELD_CHARACTERS_MAX = 4 * 1024 * 1024;

/** A stream as guardrails let it pass: text is held back as far as a finding can span, everything else until it is complete. */
export function guardedScreen(readers: TextReaders, reach: number): Screen {
  return async function* (parts) {
    const choices = new Map<number, HeldChoice>();
    for await (const part of parts) {
      if (part.type === "usage") {
        yield part;
        continue;
      }
      // The attempt counts as begun, and is billed, before anything can be blocked: no other deployment is tried.
      if (choices.size === 0) yield { type: "text-delta", choice: part.choice, text: "" };
      const held = choices.get(part.choice) ?? new HeldChoice(part.choice, readers, reach);
      choices.set(part.choice, held);
      yield* held.take(part);
    }
    for (const held of choices.values()) yield* held.flush();
  };
}

class HeldChoice {
  readonly #choice: number;
  readonly #readers: TextReaders;
  readonly #text: HeldText;
  #fields: Fields | undefined;
  #fieldCharacters = 0;

  constructor(choice: number, readers: TextReaders, reach: number) {
    this.#choice = choice;
    this.#readers = readers;
    this.#text = new HeldText(readers, reach);
  }

  async *take(part: Exclude<StreamPart, { type: "usage" }>): AsyncGenerator<StreamPart> {
    if (part.type !== "finish") this.#checkRoom(part.text.length);
    if (part.type === "text-delta") {
      yield* this.#flushFields();
      yield* this.#textPart(await this.#text.add(part.text));
    } else if (part.type === "other-delta") {
      yield* this.#textPart(await this.#text.flush());
      this.#fields = mergeDeltas(this.#fields ?? {}, part.fields);
      this.#fieldCharacters += part.text.length;
    } else {
      yield* this.flush();
      yield part;
    }
  }

  async *flush(): AsyncGenerator<StreamPart> {
    yield* this.#textPart(await this.#text.flush());
    yield* this.#flushFields();
  }

  #checkRoom(characters: number): void {
    if (this.#text.heldCharacters + this.#fieldCharacters + characters <= HELD_CHARACTERS_MAX) return;
    throw new AppError(
      "CONTENT_POLICY_VIOLATION",
      `A guardrail must read the whole answer, which is longer than the limit of ${HELD_CHARACTERS_MAX} characters.`,
    );
  }

  *#textPart(text: string): Generator<StreamPart> {
    if (text !== "") yield { type: "text-delta", choice: this.#choice, text };
  }

  async *#flushFields(): AsyncGenerator<StreamPart> {
    if (!this.#fields) return;
    const texts = await this.#readers.read(readTexts(mapMessage, this.#fields));
    const fields = replaceTexts(mapMessage, this.#fields, texts);
    this.#fields = undefined;
    this.#fieldCharacters = 0;
    yield { type: "other-delta", choice: this.#choice, fields, text: texts.join("") };
  }
}
