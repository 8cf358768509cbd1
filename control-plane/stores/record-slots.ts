import { laneOf } from "../../common/feed-place.ts";
import { slotOf } from "../../common/slots.ts";
import { MASTER_KEY_ID } from "../domain/master-key.ts";
import type { CollectionName, IndexValue, Records } from "./collections.ts";
import { slotOfLane } from "./feed-lanes.ts";
import { ofOrganization, ruleOf, type Scope, scopeOf, slotOfScope } from "./scopes.ts";

/** The number that stands for a slot where a collection also has records of no organization: those are together, apart from every slot. */
export const SHARED_SLOT = -1;

/** How the slot of a collection's records is found. */
interface SlotRule {
  /** From a record. It depends only on what never changes in a record, except where an older release wrote less of it. */
  readonly ofRecord: (record: never, slots: number) => number;
  /** From an id alone; absent if only the record has it. */
  readonly ofId?: (id: string, slots: number) => number;
  /** A transaction of one slot finds all that it reads by id in its slot: `own`; or also among the shared ones: `own-or-shared`. */
  readonly readsById?: "own" | "own-or-shared";
}

interface OfOrganization {
  readonly organizationId?: string;
}

const byOrganization: SlotRule = {
  ofRecord: ({ organizationId }: OfOrganization, slots) => (organizationId === undefined ? SHARED_SLOT : slotOf(organizationId, slots)),
};

/** From the id, by the rule of the collection's scope. */
function byScopeOfId(collection: "accounts" | "ledgerHead" | "organizations"): SlotRule {
  const ofId = (id: string, slots: number) => slotOr(scopeOf(collection, { id } as never, slots));
  return { ofRecord: ({ id }: { id: string }, slots) => ofId(id, slots), ofId };
}

/** From the record, by the rule of the collection's scope. */
function byScope(collection: CollectionName): SlotRule {
  return { ofRecord: (record: object, slots) => slotOr(scopeOf(collection, record as never, slots)) };
}

function slotOr(scope: Scope | "any"): number {
  const slot = scope === "any" ? undefined : slotOfScope(scope);
  return slot === undefined || !Number.isInteger(slot) ? SHARED_SLOT : slot;
}

function slotOfCounter(id: string, slots: number): number {
  const [series, of] = id.split("/", 2);
  // Notices need no order, but are written with what they report, in its slot.
  if (series === "notices" && of !== undefined) return Number(of);
  return slotOr(scopeOf("counters", { id, value: 0 }, slots));
}

const slotOfLease = (id: string, slots: number): number => slotOf(id.slice(id.lastIndexOf("/") + 1), slots);

function slotOfBudget({ id, organizationId }: OfOrganization & { id: string }, slots: number): number {
  const organization = id.startsWith("organization:") ? id.slice("organization:".length) : organizationId;
  return organization === undefined ? SHARED_SLOT : slotOf(organization, slots);
}

function slotOfKeyUse(use: OfOrganization & { id: string }, slots: number): number {
  return use.organizationId === undefined || use.id === MASTER_KEY_ID ? SHARED_SLOT : slotOf(use.organizationId, slots);
}

/** The collections whose records have a slot. Records of all others belong to no organization, or are written together with such records. */
const RULES: { readonly [Name in CollectionName]?: SlotRule } = {
  organizations: byScopeOfId("organizations"),
  accounts: byScopeOfId("accounts"),
  ledgerHead: byScopeOfId("ledgerHead"),
  teams: byOrganization,
  ledger: byOrganization,
  anchors: byScope("anchors"),
  checkpoints: byScope("checkpoints"),
  outbox: byScope("outbox"),
  purchases: byOrganization,
  usage: { ...byOrganization, readsById: "own" },
  usageArchives: byOrganization,
  rollups: { ...byOrganization, readsById: "own" },
  leases: { ...byOrganization, ofId: slotOfLease },
  webhooks: byOrganization,
  alerts: byOrganization,
  mcpServers: byOrganization,
  keyUses: { ofRecord: slotOfKeyUse, readsById: "own-or-shared" },
  paidWork: { ...byOrganization, readsById: "own-or-shared" },
  budgetUses: { ofRecord: slotOfBudget, readsById: "own-or-shared" },
  callContents: byOrganization,
  notices: byOrganization,
  deliveries: byOrganization,
  counters: { ofRecord: ({ id }: { id: string }, slots) => slotOfCounter(id, slots), ofId: slotOfCounter },
  feed: { ofRecord: ({ id }: { id: number }) => slotOfLane(laneOf(id)) ?? SHARED_SLOT },
};

/** The collections whose records have a slot. */
export const SLOTTED = Object.keys(RULES) as readonly CollectionName[];

/** Finds the slots of the records of a store. */
export class RecordSlots {
  readonly slots: number;
  /** The last organization: most records of a settlement have the same one. */
  #organization: string | undefined;
  #slot = 0;

  constructor(slots: number) {
    this.slots = slots;
  }

  /** The slot of a record, `SHARED_SLOT` for one of no organization; undefined if records of the collection have none. */
  of(collection: CollectionName, record: object): number | undefined {
    const rule = RULES[collection];
    if (rule?.ofRecord !== byOrganization.ofRecord) return rule?.ofRecord(record as never, this.slots);
    const { organizationId } = record as OfOrganization;
    if (organizationId === undefined || organizationId !== this.#organization) {
      this.#slot = rule.ofRecord(record as never, this.slots);
      this.#organization = organizationId;
    }
    return this.#slot;
  }

  /** The slots among which the record of an id is, for a reader inside a transaction of the slot `own`; undefined: it can be in any. */
  ofId(collection: CollectionName, id: IndexValue, own: number | undefined): readonly number[] | undefined {
    const rule = RULES[collection];
    if (rule?.ofId) return [rule.ofId(String(id), this.slots)];
    if (own === undefined || !rule?.readsById) return undefined;
    return rule.readsById === "own" ? [own] : [own, SHARED_SLOT];
  }

  /** The slots of all records of organizations in a collection; undefined if its records have none. */
  ofOrganizations(collection: CollectionName, organizationIds: readonly IndexValue[]): readonly number[] | undefined {
    const isDivided = RULES[collection] !== undefined && ruleOf(collection) === ofOrganization;
    return isDivided ? organizationIds.map((id) => slotOf(String(id), this.slots)) : undefined;
  }
}

/** Divides records of a collection into those of one transaction each: records of at most as many slots as one may write. */
export function perTransaction<Name extends CollectionName>(
  { slots, slotsPerTransaction }: { readonly slots: number; readonly slotsPerTransaction: number },
  collection: Name,
  records: readonly Records[Name][],
): Records[Name][][] {
  const bySlot = Map.groupBy(records, (record) => RULES[collection]?.ofRecord(record as never, slots));
  if (bySlot.size <= slotsPerTransaction) return records.length > 0 ? [[...records]] : [];
  const groups = [...bySlot.values()];
  const starts = groups.map((_, index) => index).filter((index) => index % slotsPerTransaction === 0);
  return starts.map((start) => groups.slice(start, start + slotsPerTransaction).flat());
}
