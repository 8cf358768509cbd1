import type { OpenRecords } from "./client-records.ts";

/**
 * Float sums depend on their order, and every node must compute the same bytes independent of the order in which updates arrive. So clients
 * are ordered by their content: by the first numbers of their tensors, which almost always differ, else by the SHA-256 of all tensors, then
 * by the numbers that came with them. Clients that are equal in all of that contribute the same to a sum.
 */
export function clientOrder(
  records: Pick<OpenRecords, "prefix" | "digest">,
  clients: readonly number[],
  numbersOf: (client: number) => readonly number[],
): number[] {
  const digests = new Map<number, string>();
  const digestOf = (client: number): string => {
    const digest = digests.get(client) ?? records.digest(client);
    digests.set(client, digest);
    return digest;
  };
  return clients.toSorted((left, right) => {
    const byPrefix = compareNumbers(records.prefix(left), records.prefix(right));
    if (byPrefix !== 0) return byPrefix;
    const [leftDigest, rightDigest] = [digestOf(left), digestOf(right)];
    if (leftDigest !== rightDigest) return leftDigest < rightDigest ? -1 : 1;
    return compareNumbers(numbersOf(left), numbersOf(right));
  });
}

function compareNumbers(left: readonly number[], right: readonly number[]): number {
  for (const [index, number] of left.entries()) {
    const other = right[index] ?? 0;
    if (number !== other) return number - other;
  }
  return 0;
}
