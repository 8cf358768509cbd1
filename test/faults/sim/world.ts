import { createHash } from "node:crypto";
import type { Logger } from "../../../common/logger.ts";
import { type Chance, chance } from "../chance.ts";
import type { SimCall } from "./call-record.ts";
import type { ControlCore } from "./control-core.ts";
import type { EdgeSlot } from "./edge-slot.ts";
import { Tables } from "./memory-store.ts";
import type { Mutant } from "./mutant.ts";
import type { Plan } from "./plan.ts";
import { SimTime } from "./sim-time.ts";

/** What is to happen to a process when it next passes a point. */
export interface Trap {
  readonly process: string;
  readonly point: string;
  /** The process dies, the power fails, or the step fails. */
  readonly how: "kill" | "power" | "fail";
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
  readonly slots: EdgeSlot[] = [];
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
  control: ControlCore | undefined;
  controlLives = 0;
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

  #hear(level: string, fields: object, message: string): void {
    if (message === "a settlement was refused") this.refusedSettlements++;
    if (this.lines)
      this.lines.push(`  ${level}: ${message} ${JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`);
  }
}
