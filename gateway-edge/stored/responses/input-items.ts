import type { Fields } from "../../upstream/providers/provider.ts";

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
};

/** What the id of an item begins with. */
export function idPrefix({ type }: Fields): string {
  return PREFIXES[typeof type === "string" ? type : "message"] ?? "item";
}

/** The input with an id for each item, as it is stored and listed. */
export function namedInput(items: readonly Fields[], suffix: string): readonly Fields[] {
  return items.map((item, index) => {
    const type = typeof item["type"] === "string" ? item["type"] : "message";
    return { ...item, type, id: typeof item["id"] === "string" ? item["id"] : `${idPrefix(item)}_${suffix}_i${index}` };
  });
}

export function isReference({ type, role, content, id }: Fields): boolean {
  // Clients may omit the type of a reference.
  return type === "item_reference" || (type === undefined && role === undefined && content === undefined && typeof id === "string");
}
