// JSON with integers of any size: money is written as an integer literal, never as a float.

declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/** JSON.stringify that writes a bigint as an integer literal. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, bigintAsLiteral, indent);
}

function bigintAsLiteral(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? JSON.rawJSON(value.toString()) : value;
}

/** JSON.parse with the reviver's context argument, which contains the source text of a number; TypeScript's types lack it. */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** JSON.parse that reads every integer as an exact bigint. */
export function fromJson(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value,
  );
}

/** Canonical JSON: sorted names, no spaces. Signatures cover this form, so that any reader can reproduce it. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => bigintAsLiteral("", inOrder(inner)));
}

function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/**
 * The nesting depth of a JSON text, without parsing it: JSON.parse accepts 200,000 nested arrays, which
 * overflow the stack of later code. Stops early once the depth is above `limit`.
 */
export function jsonDepthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = stringEnd(text, index + 1);
    else if (code === OPEN_LIST || code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
    if (depth > limit) return true;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [34, 92];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/** The end of the string that begins before `start`. It searches quote by quote, which is much faster than by character. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let run = quote;
    while (run > start && text.charCodeAt(run - 1) === BACKSLASH) run--;
    // After an even number of backslashes the quote is not escaped.
    if ((quote - run) % 2 === 0) return quote;
  }
  return text.length;
}
