import { nanoNumber, readUsd } from "./money.ts";

/** What is wrong with a typed price in USD; nothing or zero is a price too. */
export function priceProblem(text: string): string | undefined {
  return isZero(text) || readUsd(text) !== undefined ? undefined : "must be an amount such as 0.15";
}

/** Nano-USD of a typed price. */
export const priceOf = (text: string): number => (isZero(text) ? 0 : nanoNumber(text.trim()));

const isZero = (text: string): boolean => /^\s*0*(\.0*)?\s*$/.test(text);
