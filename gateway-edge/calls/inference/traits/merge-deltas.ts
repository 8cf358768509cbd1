import type { Fields } from "../../../upstream/providers/provider.ts";
import { isFields } from "./message-texts.ts";

/** Merges deltas of one message by OpenAI's rules: texts are joined, list items are merged by their index, other values are replaced. */
export function mergeDeltas(before: Fields, delta: Fields): Fields {
  const merged: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(delta)) merged[name] = mergeValue(merged[name], value, name);
  return merged;
}

// Sent once per call, but some providers repeat them: joined they would double.
const WORDS = new Set(["id", "type", "role", "name"]);

function mergeValue(before: unknown, value: unknown, name: string): unknown {
  if (value === undefined || value === null) return before ?? value;
  if (typeof before === "string" && typeof value === "string") return WORDS.has(name) ? value : before + value;
  if (Array.isArray(value)) return mergeList(Array.isArray(before) ? before : [], value);
  return isFields(before) && isFields(value) ? mergeDeltas(before, value) : value;
}

function mergeList(before: readonly unknown[], added: readonly unknown[]): unknown[] {
  const list = [...before];
  for (const item of added) {
    const index = isFields(item) ? item["index"] : undefined;
    const place = index === undefined ? -1 : list.findIndex((known) => isFields(known) && known["index"] === index);
    const known = list[place];
    if (isFields(known) && isFields(item)) list[place] = mergeDeltas(known, item);
    else list.push(item);
  }
  return list;
}
