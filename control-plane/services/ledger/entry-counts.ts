import type { Reader } from "../../stores/store.ts";

const ORGANIZATIONS_MAX = 10_000;

/** How many entries an organization had, up to the one with this id. */
interface Counted {
  readonly upTo: number;
  readonly count: number;
}

/**
 * How many ledger entries an organization has. Entries are only added, with rising ids, whichever control plane adds them: what was counted once is not
 * counted again, because with a million entries the count takes longer than the page that it is for.
 */
export class EntryCounts {
  readonly #reader: Pick<Reader, "scan" | "count">;
  readonly #known = new Map<string, Counted>();

  constructor(reader: Pick<Reader, "scan" | "count">) {
    this.#reader = reader;
  }

  async of(organizationId: string): Promise<number> {
    const range = { index: "byOrganization", equals: [organizationId] } as const;
    const before = this.#known.get(organizationId) ?? { upTo: -1, count: 0 };
    let upTo = before.upTo;
    for await (const { id } of this.#reader.scan("ledger", { ...range, reverse: true, limit: 1 })) upTo = id;
    if (upTo <= before.upTo) return before.count;
    const added = await this.#reader.count("ledger", { ...range, from: before.upTo + 1, before: upTo + 1 });
    const counted = { upTo, count: before.count + added };
    this.#keep(organizationId, counted);
    return counted.count;
  }

  #keep(organizationId: string, counted: Counted): void {
    // Another request may have counted further meanwhile.
    if ((this.#known.get(organizationId)?.upTo ?? -1) > counted.upTo) return;
    this.#known.delete(organizationId);
    for (const oldest of this.#known.size >= ORGANIZATIONS_MAX ? this.#known.keys().take(1) : []) this.#known.delete(oldest);
    this.#known.set(organizationId, counted);
  }
}
