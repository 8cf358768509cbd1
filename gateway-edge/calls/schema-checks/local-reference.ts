/** What a `$ref` within a schema leads to; undefined for any other reference, and where there is nothing. */
export function locallyReferred(root: unknown, reference: string): unknown {
  if (reference === "#" || reference === "#/") return root;
  if (!reference.startsWith("#/")) return undefined;
  return reference.slice(2).split("/").map(unescaped).reduce(inner, root);
}

function inner(value: unknown, step: string | undefined): unknown {
  if (typeof value !== "object" || value === null || step === undefined) return undefined;
  return Object.hasOwn(value, step) ? (value as Readonly<Record<string, unknown>>)[step] : undefined;
}

function unescaped(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
