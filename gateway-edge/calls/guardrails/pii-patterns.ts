export interface PiiKind {
  readonly kind: string;
  readonly expression: RegExp;
  /** Rejects matches that only look like this kind. */
  readonly isReal?: (found: string) => boolean;
}

/** In the order of the search: longer kinds with a checksum before looser ones. */
export const PII_KINDS: readonly PiiKind[] = [
  { kind: "EMAIL", expression: /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g },
  { kind: "IBAN", expression: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/g, isReal: isIban },
  { kind: "CREDIT_CARD", expression: /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g, isReal: (found) => passesLuhn(found.replaceAll(/\D/g, "")) },
  { kind: "SSN", expression: /(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])/g },
  { kind: "IP", expression: /(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.]*\d)/g },
  { kind: "IP", expression: /(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{1,4}:){2,7}(?::?[0-9A-Fa-f]{1,4}){1,6}(?![0-9A-Fa-f:])/g, isReal: isIpV6 },
  { kind: "PHONE", expression: /(?<![\w+])\+\d{1,15}(?:[ .()-]{1,2}\d{1,12}){0,6}(?!\w)/g, isReal: isPhone },
  { kind: "PHONE", expression: /(?<![\w+.])(?:\(\d{2,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,4}){1,4}(?![\w-])/g, isReal: isPhone },
];

export const PII_NAMES: readonly string[] = [...new Set(PII_KINDS.map(({ kind }) => kind))];

/** A text with every finding of the kinds replaced. */
export function maskPii(kinds: readonly PiiKind[], text: string, maskOf: (kind: string, found: string) => string): string {
  return kinds.reduce(
    (rest, { kind, expression, isReal }) => rest.replace(expression, (found) => ((isReal?.(found) ?? true) ? maskOf(kind, found) : found)),
    text,
  );
}

/** The check digit of every payment card: from the right, every second digit counts double. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0 && !/^0*$/.test(digits);
}

/** ISO 13616: the first four characters moved to the end, letters as numbers from 10 on, the rest modulo 97 is 1. */
export function isIban(found: string): boolean {
  const text = found.replaceAll(" ", "");
  if (text.length < 15 || text.length > 34) return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

function isPhone(found: string): boolean {
  const digits = found.replaceAll(/\D/g, "").length;
  // Dates and other numbers have as many digits, but not these groups.
  return digits >= 9 && digits <= 15 && !/^(\d{4}-\d{2}-\d{2}|\d{3}-\d{2}-\d{4}$)/.test(found);
}

function isIpV6(found: string): boolean {
  const groups = found.split(":");
  return groups.length === 8 || (found.includes("::") && groups.length <= 8);
}
