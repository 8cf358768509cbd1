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
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92) index++;
      else if (code === 34) inString = false;
    } else if (code === 34) {
      inString = true;
    } else if (code === 91 || code === 123) {
      if (++depth > limit) return true;
    } else if (code === 93 || code === 125) {
      depth--;
    }
  }
  return false;
}
