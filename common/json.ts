// JSON with whole numbers of any size: money leaves as an integer literal, never through a float.

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

/** JSON.parse as it is since its reviver is told the text of a number; TypeScript does not know yet. */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** JSON.parse that reads every whole number as a bigint, exactly as it is written. */
export function fromJson(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value,
  );
}

/** The one way to write a value: names in order, no spaces. What is signed is signed in this form, so that any reader can make it again. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => bigintAsLiteral("", inOrder(inner)));
}

function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/**
 * How deep the brackets of a JSON text go, without parsing it: JSON.parse takes 200,000 nested arrays that
 * nothing after it survives. Stops early once the depth is above `limit`.
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

/** Where the string that began before `start` ends: from quote to quote, which is much faster than by characters. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let run = quote;
    while (run > start && text.charCodeAt(run - 1) === BACKSLASH) run--;
    // An even number of backslashes before it: they escape each other.
    if ((quote - run) % 2 === 0) return quote;
  }
  return text.length;
}
