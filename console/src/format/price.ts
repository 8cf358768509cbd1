import { nanoNumber, readUsd } from "./money.ts";

/** Validates a typed price in USD; empty and zero are valid. */
export function priceProblem(text: string): string | undefined {
  return isZero(text) || readUsd(text) !== undefined ? undefined : "Enter an amount, such as 0.15";
}

/** Nano-USD of a typed price. */
export const priceOf = (text: string): number => (isZero(text) ? 0 : nanoNumber(text.trim()));

const isZero = (text: string): boolean => /^\s*0*(\.0*)?\s*$/.test(text);
