/** Group → the groups to try after it, in order. */
export type FallbackMap = ReadonlyMap<string, readonly string[]>;

/**
 * Reads every common form of fallbacks: [{"a": ["b", "c"]}], {"a": ["b"]}, {"a": "b"} (context_window_fallback_dict). Other forms are
 * ignored.
 */
export function readFallbacks(value: unknown): FallbackMap {
  const lists = new Map<string, readonly string[]>();
  for (const entry of Array.isArray(value) ? value : [value]) {
    if (!isObject(entry)) continue;
    for (const [group, names] of Object.entries(entry)) lists.set(group, [...(lists.get(group) ?? []), ...readModelNames(names)]);
  }
  return lists;
}

/** "a", ["a", "b"] or [{model: "a", ...}] as names. */
export function readModelNames(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).flatMap((entry: unknown) => {
    const name = isObject(entry) ? entry["model"] : entry;
    return typeof name === "string" && name !== "" ? [name] : [];
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
