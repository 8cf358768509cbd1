import { MESSAGE_EVENTS, type ProxiedEvent } from "../../../upstream/providers/anthropic/messages.ts";
import type { ChatAnswer, Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { asFields, asList } from "../../../upstream/providers/shared/json-fields.ts";
import type { CacheableTraits } from "../../inference/job.ts";
import type { ProxiedAnswer } from "../../inference/jobs/proxied.ts";
import { chatCacheable } from "../../inference/traits/chat.ts";
import { proxiedEvents } from "./proxied-frames.ts";

const WHOLE = new Set(["end_turn", "tool_use", "stop_sequence"]);

/** How messages are cached: as their provider wrote them, or as chat answers where they were translated. */
export const messageCacheable: CacheableTraits<ProxiedAnswer> = {
  dialect: "messages",
  isWhole: (answer) => ("proxied" in answer ? WHOLE.has(String(answer.proxied["stop_reason"])) : chatCacheable.isWhole(answer)),
  assemble: (parts) => {
    const events = parts.flatMap((part) => proxiedEvents(part) ?? []);
    return events.length > 0 ? { proxied: assembled(events) } : (chatCacheable.assemble?.(parts) as ChatAnswer);
  },
  replay: (answer) => ("proxied" in answer ? replayed(answer.proxied) : (chatCacheable.replay?.(answer) ?? [])),
};

/** Deltas that add to a text field of their block. */
const ADDED: Readonly<Record<string, { readonly field: string; readonly to: string }>> = {
  text_delta: { field: "text", to: "text" },
  thinking_delta: { field: "thinking", to: "thinking" },
  signature_delta: { field: "signature", to: "signature" },
  input_json_delta: { field: "partial_json", to: "input" },
};

/** The message that the events make. One with a delta of an unknown kind is not whole. */
function assembled(events: readonly ProxiedEvent[]): Fields {
  let message: Fields = {};
  const blocks = new Map<unknown, GrowingBlock>();
  let isKnown = true;
  for (const { type, fields } of events) {
    const { index } = fields;
    if (type === "message_start") message = asFields(fields["message"]);
    if (type === "message_delta") message = ended(message, fields);
    if (type === "content_block_start") blocks.set(index, { fields: { ...asFields(fields["content_block"]) }, json: "" });
    if (type === "content_block_delta" && !add(asFields(fields["delta"]), blocks.get(index))) isKnown = false;
  }
  return { ...message, content: [...blocks.values()].map(blockOf), ...(isKnown ? {} : { stop_reason: null }) };
}

interface GrowingBlock {
  readonly fields: Record<string, unknown>;
  /** The input of a tool, as far as it has arrived. */
  json: string;
}

function blockOf({ fields, json }: GrowingBlock): Fields {
  return json === "" ? fields : { ...fields, input: JSON.parse(json) as unknown };
}

function ended(message: Fields, { type: _type, delta, usage, ...others }: Fields): Fields {
  return { ...message, ...others, ...asFields(delta), usage: { ...asFields(message["usage"]), ...asFields(usage) } };
}

/** False for a delta of an unknown kind. */
function add(delta: Fields, block: GrowingBlock | undefined): boolean {
  const added = ADDED[String(delta["type"])];
  if (!block) return false;
  const { fields } = block;
  if (delta["type"] === "citations_delta") fields["citations"] = [...asList(fields["citations"]), delta["citation"]];
  else if (!added) return false;
  else if (added.to === "input") block.json += String(delta[added.field] ?? "");
  else fields[added.to] = String(fields[added.to] ?? "") + String(delta[added.field] ?? "");
  return true;
}

/** A message as the events of a stream, each block with its text in one delta. */
function replayed(message: Fields): StreamPart[] {
  const { content, stop_reason, stop_sequence, usage, ...others } = message;
  const events: (Fields & { type: string })[] = [
    { type: "message_start", message: { ...others, content: [], stop_reason: null, stop_sequence: null, usage } },
    ...asList(content).flatMap((block, index) => blockEvents(asFields(block), index)),
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage },
    { type: "message_stop" },
  ];
  return events.map((fields) => {
    const event: ProxiedEvent = { type: fields.type, data: JSON.stringify(fields), fields };
    return { type: "other-delta", choice: 0, fields: { [MESSAGE_EVENTS]: [event] }, text: "" };
  });
}

function blockEvents(block: Fields, index: number): (Fields & { type: string })[] {
  const deltas = deltasOf(block);
  const emptied = Object.fromEntries(deltas.map(({ to, empty }) => [to, empty]));
  return [
    { type: "content_block_start", index, content_block: { ...block, ...emptied } },
    ...deltas.map(({ delta }) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function deltasOf(block: Fields): { to: string; empty: unknown; delta: Fields }[] {
  const { type, input } = block;
  if (input !== undefined) return [{ to: "input", empty: {}, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } }];
  if (type !== "text" && type !== "thinking") return [];
  return ["text_delta", "thinking_delta", "signature_delta"].flatMap((name) => {
    const { field = "", to = "" } = ADDED[name] ?? {};
    return typeof block[to] === "string" ? [{ to, empty: "", delta: { type: name, [field]: block[to] } }] : [];
  });
}
