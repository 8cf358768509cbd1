// JSON with whole numbers of any size: money leaves as an integer literal, never through a float.

declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/** JSON.stringify that writes a bigint as an integer literal. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, bigintAsLiteral);
}

function bigintAsLiteral(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? JSON.rawJSON(value.toString()) : value;
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

function stringEnd(text: string, start: number): number {
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index++;
    else if (code === QUOTE) return index;
  }
  return text.length;
}
