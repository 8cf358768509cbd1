import type { LeastClients, Strategy } from "./strategy.ts";

/** Why so many clients are too few for a strategy with these settings; undefined if they suffice. */
export function tooFewClients(
  { name, leastClients }: Pick<Strategy, "name" | "leastClients">,
  setting: (name: string) => unknown,
  clients: number,
): (LeastClients & { readonly message: string }) | undefined {
  const lacking = leastClients?.(setting).find(({ least }) => clients < least);
  if (!lacking) return undefined;
  return { ...lacking, message: `${name} requires at least ${lacking.least} clients for this ${lacking.setting}; there are ${clients}` };
}
