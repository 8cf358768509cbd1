import type { Price } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";

export interface PriceInput {
  input: bigint;
  output: bigint;
  cachedInput?: bigint | undefined;
  cacheWrite?: bigint | undefined;
  effectiveAt?: Date | undefined;
}

/** A new version of a model's price. Earlier ones stay: usage rows name the version they were priced with. */
export async function addPrice(tx: Transaction, modelId: string, input: PriceInput, now: number): Promise<Price> {
  const versions = await collect(tx.scan("prices", { index: "byModel", equals: [modelId] }));
  const version = (versions.at(-1)?.version ?? 0) + 1;
  const price: Price = {
    id: `${modelId}/${version}`,
    modelId,
    version,
    effectiveAt: input.effectiveAt?.getTime() ?? now,
    unit: "token",
    input: input.input,
    output: input.output,
    ...(input.cachedInput === undefined ? {} : { cachedInput: input.cachedInput }),
    ...(input.cacheWrite === undefined ? {} : { cacheWrite: input.cacheWrite }),
    createdAt: now,
  };
  await tx.insert("prices", price);
  return price;
}
