import type { CommandStartedEvent, Document } from "mongodb";
import { SHARED_SLOT, SLOTTED } from "../record-slots.ts";
import { ORDER_COLLECTION } from "./apply.ts";

/** A write of a transaction as the driver sends it. */
export interface SentWrite {
  readonly collection: string;
  /** The slot that it names; undefined: none, so that a router would have to ask every shard. */
  readonly slot: number | undefined;
}

/** A transaction as the driver sends it. */
export interface SentTransaction {
  /** Its order documents. */
  readonly scopes: string[];
  readonly writes: SentWrite[];
  /** The slots of its reads of collections that have slots, by collection; undefined: a read that names none. */
  readonly reads: (SentWrite & { readonly slots: readonly number[] | undefined })[];
}

/** Records the commands of transactions, from the driver's own events. */
export class CommandLog {
  readonly #transactions = new Map<string, SentTransaction>();

  readonly onCommand = ({ command, commandName }: CommandStartedEvent): void => {
    if (command["txnNumber"] === undefined || command["autocommit"] !== false) return;
    const name = `${command["lsid"].id.toString("hex")} ${command["txnNumber"]}`;
    const known = this.#transactions.get(name) ?? { scopes: [], writes: [], reads: [] };
    this.#transactions.set(name, known);
    const collection = String(command[commandName]);
    known.writes.push(...sentSlots(command).map((slot) => ({ collection, slot: isDivided(collection) ? slot : SHARED_SLOT })));
    if (collection === ORDER_COLLECTION) known.scopes.push(...(command["updates"] ?? []).map(({ q }: Document) => String(q["_id"])));
    if (commandName === "find" && isDivided(collection)) known.reads.push(readOf(collection, command["filter"]));
  };

  /** The transactions that wrote something, in the order of their beginning. */
  get transactions(): SentTransaction[] {
    return [...this.#transactions.values()].filter(({ writes }) => writes.length > 0);
  }
}

const isDivided = (collection: string): boolean => collection === ORDER_COLLECTION || (SLOTTED as readonly string[]).includes(collection);

function sentSlots({ documents = [], updates = [], deletes = [] }: Document): (number | undefined)[] {
  return [...documents, ...[...updates, ...deletes].map(({ q }: Document) => q)].map(({ slot }: Document) => slot);
}

function readOf(collection: string, filter: Document): SentTransaction["reads"][number] {
  const slot = filter["slot"];
  const slots: readonly number[] | undefined = typeof slot === "number" ? [slot] : slot?.$in;
  return { collection, slot: slots?.[0], slots };
}
