import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { citationsIn, type FileCitation } from "../file-citations.ts";
import type { Piece } from "../pieces.ts";
import { sealedContent } from "./seal.ts";

type Part =
  | { readonly type: "output_text"; text: string; logprobs: unknown[]; citations: readonly Fields[] }
  | { readonly type: "refusal"; text: string };
type Item =
  | { readonly type: "message"; readonly id: string; readonly parts: Part[]; status: Status }
  | { readonly type: "reasoning"; readonly id: string; text: string; sealed: string | undefined; status: Status }
  | {
      readonly type: "function_call";
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      text: string;
      status: Status;
    }
  /** What a tool of the gateway did. */
  | { readonly type: "tool"; readonly id: string; readonly fields: Fields; status: Status };
type Status = "in_progress" | "completed" | "incomplete";

/** One event of a stream, without its number. */
export type ResponseEvent = Fields & { readonly type: string };

/**
 * The output of a response while it grows. Whole answers and streams are built by the same steps, so that the events of a stream assemble
 * to the whole answer.
 */
export class ResponseOutput {
  readonly #items: Item[] = [];
  readonly #calls = new Map<number, number>();
  readonly #suffix: string;
  /** The results of the last file search. */
  #cited: readonly Fields[] = [];

  /** `suffix`: part of the ids of items, so that an item's id names its response. */
  constructor(suffix: string) {
    this.#suffix = suffix;
  }

  items(): readonly Fields[] {
    return this.#items.map(itemFields);
  }

  take(piece: Piece): readonly ResponseEvent[] {
    switch (piece.type) {
      case "text":
        return this.#say("output_text", piece.text, logprobsIn(piece.logprobs));
      case "refusal":
        return this.#say("refusal", piece.text, []);
      case "reasoning":
        return this.#think(piece.text);
      case "sealed":
        return this.#seal(piece.block);
      case "call":
        return this.#call(piece);
      case "item":
        return this.#tool(piece.item);
      case "stop-sequence":
        return [];
    }
  }

  /** Ends the open items. */
  close(status: Exclude<Status, "in_progress"> = "completed"): readonly ResponseEvent[] {
    return this.#items.flatMap((item, index) => (item.status === "in_progress" ? this.#end(item, index, status) : []));
  }

  #say(type: Part["type"], text: string, logprobs: readonly unknown[]): readonly ResponseEvent[] {
    const events = [...this.#openAs("message")];
    const index = this.#items.length - 1;
    const item = this.#items[index];
    if (item?.type !== "message") return events;
    if (item.parts.at(-1)?.type !== type) {
      events.push(...this.#endPart(item, index));
      item.parts.push(type === "refusal" ? { type, text: "" } : { type, text: "", logprobs: [], citations: [] });
      events.push({ type: "response.content_part.added", ...placeOf(item, index), part: partFields(item.parts.at(-1)) });
    }
    const part = item.parts.at(-1);
    if (part) part.text += text;
    if (part?.type === "output_text") part.logprobs.push(...logprobs);
    const more = type === "refusal" ? {} : { logprobs };
    return [...events, { type: `response.${type}.delta`, ...placeOf(item, index), delta: text, ...more }];
  }

  #think(text: string): readonly ResponseEvent[] {
    const events = [...this.#openAs("reasoning")];
    const index = this.#items.length - 1;
    const item = this.#items[index];
    if (item?.type !== "reasoning") return events;
    const place = summaryPlace(item, index);
    if (item.text === "") events.push({ type: "response.reasoning_summary_part.added", ...place, part: summaryPart("") });
    item.text += text;
    return [...events, { type: "response.reasoning_summary_text.delta", ...place, delta: text }];
  }

  #seal(block: Fields): readonly ResponseEvent[] {
    const last = this.#items.at(-1);
    const isOpen = last?.type === "reasoning" && last.status === "in_progress";
    const text = asText(block["thinking"]);
    const events = isOpen ? [] : text === undefined ? this.#openAs("reasoning") : this.#think(text);
    const item = this.#items.at(-1);
    if (item?.type === "reasoning") item.sealed = sealedContent(block);
    return [...events, ...this.close()];
  }

  /** Tool calls stay open side by side: some servers write several at once. */
  #call({ index: number, id, name, arguments: text }: Extract<Piece, { type: "call" }>): readonly ResponseEvent[] {
    const events: ResponseEvent[] = [];
    let at = this.#calls.get(number);
    if (at === undefined) {
      events.push(...this.#closeUnless("function_call"));
      at = this.#items.length;
      this.#calls.set(number, at);
      const callId = id ?? `call_${this.#suffix}_${at}`;
      events.push(this.#add({ type: "function_call", id: this.#idOf("fc"), callId, name: name ?? "", text: "", status: "in_progress" }));
    }
    const item = this.#items[at];
    if (text === "" || item?.type !== "function_call") return events;
    item.text += text;
    return [...events, { type: "response.function_call_arguments.delta", item_id: item.id, output_index: at, delta: text }];
  }

  #tool(fields: Fields): readonly ResponseEvent[] {
    const type = String(fields["type"]);
    const item: Item = { type: "tool", id: this.#idOf(TOOL_PREFIXES[type] ?? "item"), fields, status: "completed" };
    if (type === "file_search_call") this.#cited = asList(fields["results"]).map(asFields);
    const events = [...this.close(), this.#add(item)];
    const output_index = this.#items.length - 1;
    const steps = stepsOf(type, fields).map((step) => ({ type: `response.${type}.${step}`, item_id: item.id, output_index }));
    return [...events, ...steps, { type: "response.output_item.done", output_index, item: itemFields(item) }];
  }

  #endPart(item: Extract<Item, { type: "message" }>, index: number): readonly ResponseEvent[] {
    const part = item.parts.at(-1);
    if (part?.type !== "output_text" || part.citations.length > 0) return endPart(item, index);
    part.citations = citationsIn(part.text, this.#cited).map(annotationOf);
    const added = part.citations.map((annotation, annotation_index) => ({
      ...{ type: "response.output_text.annotation.added", ...placeOf(item, index), annotation_index, annotation },
    }));
    return [...added, ...endPart(item, index)];
  }

  #openAs(type: "message" | "reasoning"): readonly ResponseEvent[] {
    const last = this.#items.at(-1);
    if (last?.type === type && last.status === "in_progress") return [];
    const closed = this.close();
    const item: Item =
      type === "message"
        ? { type, id: this.#idOf("msg"), parts: [], status: "in_progress" }
        : { type, id: this.#idOf("rs"), text: "", sealed: undefined, status: "in_progress" };
    return [...closed, this.#add(item)];
  }

  #closeUnless(type: Item["type"]): readonly ResponseEvent[] {
    return this.#items.at(-1)?.type === type ? [] : this.close();
  }

  #add(item: Item): ResponseEvent {
    this.#items.push(item);
    return { type: "response.output_item.added", output_index: this.#items.length - 1, item: itemFields(item) };
  }

  #end(item: Item, index: number, status: Status): readonly ResponseEvent[] {
    item.status = status;
    const before = item.type === "function_call" ? endArguments(item, index) : [];
    const done = { type: "response.output_item.done", output_index: index, item: itemFields(item) };
    if (item.type === "function_call") return [...before, done];
    if (item.type === "message") return [...this.#endPart(item, index), { ...done, item: itemFields(item) }];
    if (item.type === "tool") return [];
    if (item.text === "") return [done];
    const place = summaryPlace(item, index);
    return [
      { type: "response.reasoning_summary_text.done", ...place, text: item.text },
      { type: "response.reasoning_summary_part.done", ...place, part: summaryPart(item.text) },
      done,
    ];
  }

  #idOf(prefix: string): string {
    return `${prefix}_${this.#suffix}_${this.#items.length}`;
  }
}

const TOOL_PREFIXES: Readonly<Record<string, string>> = { file_search_call: "fs", mcp_call: "mcp", mcp_list_tools: "mcpl" };
const TOOL_STEPS: Readonly<Record<string, readonly string[]>> = {
  file_search_call: ["in_progress", "searching", "completed"],
  mcp_call: ["in_progress", "completed"],
  mcp_list_tools: ["in_progress", "completed"],
};

/** A failed search has no event of its own: its item tells. */
function stepsOf(type: string, { status }: Fields): readonly string[] {
  const steps = TOOL_STEPS[type] ?? [];
  if (status !== "failed") return steps;
  return type === "mcp_call" ? steps.with(-1, "failed") : steps.slice(0, -1);
}

function annotationOf({ index, result }: FileCitation<Fields>): Fields {
  return { type: "file_citation", index, file_id: result["file_id"], filename: result["filename"] };
}

function endPart(item: Extract<Item, { type: "message" }>, index: number): readonly ResponseEvent[] {
  const part = item.parts.at(-1);
  if (!part) return [];
  const place = placeOf(item, index);
  const text = part.type === "refusal" ? { refusal: part.text } : { text: part.text, logprobs: part.logprobs };
  return [
    { type: `response.${part.type}.done`, ...place, ...text },
    { type: "response.content_part.done", ...place, part: partFields(part) },
  ];
}

/** A tool call without arguments gets an empty object: clients parse the text. */
function endArguments(item: Extract<Item, { type: "function_call" }>, index: number): readonly ResponseEvent[] {
  const place = { item_id: item.id, output_index: index };
  const missing = item.text === "" && item.status === "completed" ? "{}" : "";
  item.text += missing;
  const delta = missing === "" ? [] : [{ type: "response.function_call_arguments.delta", ...place, delta: missing }];
  return [...delta, { type: "response.function_call_arguments.done", ...place, name: item.name, arguments: item.text }];
}

function placeOf({ id, parts }: Extract<Item, { type: "message" }>, index: number) {
  return { item_id: id, output_index: index, content_index: parts.length - 1 };
}

function summaryPlace({ id }: Item, index: number) {
  return { item_id: id, output_index: index, summary_index: 0 };
}

const summaryPart = (text: string) => ({ type: "summary_text", text });

function itemFields(item: Item): Fields {
  const { type, id, status } = item;
  if (type === "message") return { id, type, status, role: "assistant", content: item.parts.map(partFields) };
  if (type === "tool") return { ...item.fields, id };
  if (type === "function_call") return { id, type, status, call_id: item.callId, name: item.name, arguments: item.text };
  const sealed = item.sealed === undefined ? {} : { encrypted_content: item.sealed };
  return { id, type, summary: item.text === "" ? [] : [summaryPart(item.text)], ...sealed };
}

function partFields(part: Part | undefined): Fields {
  if (part?.type === "refusal") return { type: "refusal", refusal: part.text };
  return { type: "output_text", text: part?.text ?? "", annotations: part?.citations ?? [], logprobs: [...(part?.logprobs ?? [])] };
}

/** The token list of chat is the one that this API has too. */
function logprobsIn(logprobs: unknown): readonly unknown[] {
  return asList(asFields(logprobs)["content"]);
}
