import { createHash } from "node:crypto";
import type { Logger } from "../../../common/logger.ts";
import { memoryRows } from "../../../control-plane/slots/memory-rows-fixture.ts";
import type { OwnershipRows, SlotRow } from "../../../control-plane/stores/ownership-rows.ts";
import { slotScope } from "../../../control-plane/stores/scopes.ts";
import { type Chance, chance } from "../chance.ts";
import type { SimCall } from "./call-record.ts";
import type { EdgeSlot } from "./edge-slot.ts";
import { Links } from "./links.ts";
import { Tables } from "./memory-store.ts";
import type { Mutant } from "./mutant.ts";
import type { Grant } from "./note-grants.ts";
import type { Reward } from "./payments.ts";
import type { Plan } from "./plan.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import { SimTime } from "./sim-time.ts";

/** What is to happen to a process when it next passes a point. */
export interface Trap {
  readonly process: string;
  readonly point: string;
  /** The process dies, the power fails, the step fails, or the process is stopped for a while. */
  readonly how: "kill" | "power" | "fail" | "stop";
  readonly forMs?: number;
}

/** Everything that one seed makes, and what was seen of it from outside. */
export class World {
  readonly plan: Plan;
  readonly mutant: Mutant;
  readonly time = new SimTime();
  /** The nemesis' own dice: what it does must not depend on how a message is delayed. */
  readonly chance: Chance;
  readonly tables = new Tables();
  readonly calls = new Map<string, SimCall>();
  /** Where edges run. */
  readonly slots: EdgeSlot[] = [];
  readonly planes: PlaneSlot[] = [];
  readonly links = new Links();
  /** Who owns the slots, in the store that the control planes share. */
  readonly rows: OwnershipRows;
  readonly owners = new Map<number, SlotRow>();
  /** Calls that control planes reserved by themselves, by call id. */
  readonly grants = new Map<string, Grant>();
  /** What a control plane wrote or granted in a slot that it did not own. */
  readonly foreign: string[] = [];
  /** What organizations pay others. */
  readonly payments: (Reward & { readonly isPaid: boolean })[] = [];
  /** What was bought and is in the ledger, by organization. */
  readonly bought = new Map<string, bigint>();
  /** How often each fault happened. */
  readonly hits = new Map<string, number>();
  /** What calls cost that were settled when their lease was over: their credit may have been lent again. */
  readonly uncovered = new Map<string, bigint>();
  /** Leases that the next process on a dead edge's disk ended, because nothing was left to be settled under them. */
  readonly ended = new Set<string>();
  /** Calls that were settled under one of those all the same: others could have spent their credit meanwhile. */
  readonly endedTooSoon: string[] = [];
  /** How far below zero a balance ended, and how much less than was delivered a call that was cut is billed. */
  readonly worst = { overspentNano: 0n, unbilledNano: 0n };
  /** Set when all faults are over: from then on everything arrives. */
  calm = false;
  refusedSettlements = 0;
  readonly lines: string[] | undefined;
  readonly logger: Logger;
  #traps: Trap[] = [];
  readonly #hash = createHash("sha256");
  events = 0;

  constructor(plan: Plan, { mutant = {}, trace = false }: { mutant?: Mutant; trace?: boolean } = {}) {
    this.plan = plan;
    this.mutant = mutant;
    this.chance = chance(plan.seed * 7 + 3);
    this.rows = memoryRows(plan.slots, (row) => this.#noteOwner(row));
    this.lines = trace ? [] : undefined;
    const take = (level: string) => (fields: object, message: string) => this.#hear(level, fields, message);
    this.logger = { debug: () => {}, info: () => {}, warn: take("warn"), error: take("error") };
  }

  /** Takes down what happened; two runs of one seed must say the same. */
  saw(line: string): void {
    this.events++;
    const text = `${this.time.nowMs.toFixed(3)} ${line}`;
    this.#hash.update(`${text}\n`);
    this.lines?.push(text);
  }

  /** Several control planes share the store. */
  get isShared(): boolean {
    return this.plan.planes > 1;
  }

  planeAt(address: string): PlaneSlot | undefined {
    return this.planes.find((plane) => plane.address === address);
  }

  hash(): string {
    return this.#hash.copy().digest("hex");
  }

  hit(fault: string): void {
    this.hits.set(fault, (this.hits.get(fault) ?? 0) + 1);
    this.saw(`fault: ${fault}`);
  }

  arm(trap: Trap): void {
    this.#traps.push(trap);
  }

  /** The trap that a process falls into here, if there is one; it is used up. */
  sprung(process: string, point: string): Trap | undefined {
    if (this.calm) return undefined;
    const trap = this.#traps.find((each) => each.process === process && each.point === point);
    if (!trap) return undefined;
    this.#traps = this.#traps.filter((each) => each !== trap);
    this.hit(`${trap.how} at ${point}`);
    return trap;
  }

  #noteOwner(row: SlotRow): void {
    const { slot, epoch, owner } = row;
    this.owners.set(slot, row);
    this.tables.epochs.set(slotScope(slot), epoch);
    // The first owner of a slot has no predecessor.
    if (owner !== undefined && epoch > 1) this.hit("a slot has another owner");
    this.saw(`slot ${slot} has the owner ${owner} under the epoch ${epoch}`);
  }

  #hear(level: string, fields: object, message: string): void {
    if (message === "a settlement was refused") this.refusedSettlements++;
    if (this.lines)
      this.lines.push(`  ${level}: ${message} ${JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`);
  }
}
