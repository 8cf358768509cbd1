import { redactCredentials } from "../../../common/log-redaction.ts";
import { PATTERN_REACH } from "../guardrails/guardrail.ts";
import { maskPii, PII_KINDS } from "../guardrails/pii-patterns.ts";

/** A text without personal data, by the guardrails' patterns, and without credentials of known forms. */
function redactedText(text: string): string {
  return maskPii(PII_KINDS, redactCredentials(text), (kind) => `[${kind}]`);
}

/** JSON with every text and every name of a field redacted. */
export function redactedJson(json: string): string {
  return JSON.stringify(mapTexts(JSON.parse(json), redactedText));
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [map(name), mapTexts(field, map)]));
}

/** Where a text can be cut at or before `end` so that no personal data spans the cut: the part before it would not be recognized. */
export function cutBefore(text: string, end: number): number {
  const start = Math.max(0, end - PATTERN_REACH);
  const around = text.slice(start, end + PATTERN_REACH);
  let cut = end;
  for (const { expression } of PII_KINDS) {
    for (const { index, 0: found } of around.matchAll(expression)) {
      const from = start + index;
      if (from < cut && from + found.length > cut) cut = from;
    }
  }
  return cut;
}
