import type { Fields } from "../provider.ts";
import { asFields, asList } from "./json-fields.ts";
import { toolCallId } from "./tool-call-deltas.ts";

/**
 * The id of a tool call for a server that takes ids of so many characters. Ids of other providers are longer: that of Gemini has the signature of a
 * thought in it. Equal ids stay equal, so that a result finds its call.
 */
export function shortId(id: string, charactersMax: number): string {
  return id.length <= charactersMax ? id : toolCallId(id);
}

/** Messages of a chat with such ids. */
export function withShortIds(messages: unknown, charactersMax: number): unknown {
  const isLong = (id: unknown): id is string => typeof id === "string" && id.length > charactersMax;
  const list = asList(messages);
  const hasLong = (message: Fields) =>
    isLong(message["tool_call_id"]) || asList(message["tool_calls"]).some((call) => isLong(asFields(call)["id"]));
  if (!list.some((message) => hasLong(asFields(message)))) return messages;
  const short = (holder: Fields, name: string): Fields => {
    const id = holder[name];
    return isLong(id) ? { ...holder, [name]: shortId(id, charactersMax) } : holder;
  };
  return list.map((given) => {
    const message = short(asFields(given), "tool_call_id");
    const calls = message["tool_calls"];
    return Array.isArray(calls) ? { ...message, tool_calls: calls.map((call) => short(asFields(call), "id")) } : message;
  });
}
