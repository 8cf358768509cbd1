import { createHash } from "node:crypto";
import type { Fields } from "../provider.ts";
import { asFields, asList, asText } from "./json-fields.ts";

/** An id for a tool call without one: unique, and equal for equal answers. */
export function toolCallId(...seed: readonly unknown[]): string {
  return `call_${createHash("sha256").update(JSON.stringify(seed)).digest("hex").slice(0, 24)}`;
}

/** Arguments as the text that clients parse; some servers send the object itself. */
export function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Tool calls of a whole answer in OpenAI's format; well-formed ones stay unchanged. */
export function wholeToolCalls(value: unknown, answerId: unknown): readonly Fields[] {
  return asList(value).map((item, position) => {
    const { index: _index, ...call } = asFields(item);
    const called = asFields(call["function"]);
    const id = asText(call["id"]) ?? toolCallId(answerId, position, called);
    if (call["type"] !== undefined && call["type"] !== "function") return { ...call, id };
    return { ...call, id, type: "function", function: { ...called, arguments: argumentsText(called["arguments"]) || "{}" } };
  });
}

interface Started {
  readonly id: string;
  readonly position: number;
}

/**
 * Fragments of the tool calls of one choice, corrected where servers are wrong: dense indexes from 0; id, type and name once per call.
 * Clients crash on anything else.
 */
export class ToolCallDeltas {
  readonly #byUpstreamIndex = new Map<unknown, Started>();
  #count = 0;
  #last: Started | undefined;

  /** Returns corrected fragments. `answerId` is the seed of ids where there are none. */
  read(value: unknown, answerId: unknown): readonly Fields[] {
    return asList(value).map((item) => this.#readOne(asFields(item), answerId));
  }

  #readOne(delta: Fields, answerId: unknown): Fields {
    const called = asFields(delta["function"]);
    const known = this.#find(delta);
    this.#last = known ?? this.#start(delta, answerId);
    const { position: index, id } = this.#last;
    const text = argumentsText(called["arguments"]);
    if (known) return { index, function: { arguments: text } };
    return { ...delta, index, id, type: asText(delta["type"]) ?? "function", function: { ...called, arguments: text } };
  }

  #find(delta: Fields): Started | undefined {
    const id = asText(delta["id"]);
    const started = delta["index"] === undefined || delta["index"] === null ? this.#last : this.#byUpstreamIndex.get(delta["index"]);
    // Another id at a known index is another tool call: some servers use index 0 for every call.
    return id === undefined || started === undefined || started.id === id ? started : undefined;
  }

  #start(delta: Fields, answerId: unknown): Started {
    const position = this.#count++;
    const started = { id: asText(delta["id"]) ?? toolCallId(answerId, position, delta["function"]), position };
    this.#byUpstreamIndex.set(delta["index"], started);
    return started;
  }
}
