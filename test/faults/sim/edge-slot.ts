import { type DiskStep, type FakeDisk, fakeDisk } from "../../../common/disk-fixture.ts";
import { ignore } from "../../../common/ignore.ts";
import type { CreditAccess, Planes, PlanesDeps } from "../../../gateway-edge/access/planes.ts";
import type { Credit } from "../../../gateway-edge/credit/credit.ts";
import type { Journal } from "../../../gateway-edge/credit/journal/journal.ts";
import { openJournal } from "../../../gateway-edge/credit/journal/open-journal.ts";
import type { JournalSync } from "../../../gateway-edge/credit/journal/writer.ts";
import { LeasedCredit } from "../../../gateway-edge/credit/leased-credit.ts";
import { connectPlanes } from "./edge-planes.ts";
import { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";
import { writePoint } from "./write-point.ts";

/** One life of an edge. */
export interface EdgeLife {
  readonly id: string;
  readonly process: SimProcess;
  readonly journal: Journal;
  readonly credit: Credit;
  /** Of the leases it knows, by organization. */
  readonly generations: Map<string, bigint>;
  /** Calls that run. */
  running: number;
}

const FOLDER = "/journal";
/** Small, so that files are ended, carried over and removed within one run. */
const LIMITS = { fileBytesMax: 6000, filesMax: 3, inMemoryMax: 8, heldBytesMax: 1_000_000, probeMs: 300 };
const DRAIN_MS = 30_000;
const FLUSHED_MS = 1_000;

/** A place where an edge runs: its folder stays when its process goes. */
export class EdgeSlot {
  readonly name: string;
  readonly sync: JournalSync;
  life: EdgeLife | undefined;
  isDraining = false;
  /** Its process or its disk was in trouble: nothing can be said of how soon its leases come back. */
  hadTrouble = false;
  readonly #world: World;
  #disk: FakeDisk = fakeDisk();
  #lives = 0;
  #step: DiskStep | undefined;

  constructor(world: World, { name, sync }: { name: string; sync: JournalSync }) {
    this.#world = world;
    this.name = name;
    this.sync = sync;
  }

  async start(): Promise<void> {
    const world = this.#world;
    const id = `${this.name}.${++this.#lives}`;
    // A clock that jumped while the machine was away.
    const wallOffsetMs = world.chance.happens(0.2) ? world.chance.between(-86_400_000, 86_400_000) : 0;
    const process: SimProcess = new SimProcess(id, { time: world.time, wallOffsetMs, onPoint: (point) => this.#onPoint(process, point) });
    const disk = this.#disk;
    disk.onStep = (step) => this.#onStep(process, step);
    world.saw(`${id} starts`);
    const { mutant, logger } = world;
    const onBroken = () => {
      if (process.alive) this.die({ process, how: "kill" });
    };
    const options = {
      disk: mutant.disk?.(disk) ?? disk,
      folder: FOLDER,
      edgeId: id,
      sync: this.sync,
      clock: process.clock,
      logger,
      onBroken,
    };
    const journal = await openJournal({ ...options, limits: LIMITS }).catch((error: unknown) => {
      if (process.alive) throw error;
    });
    if (!journal || !process.alive) return;
    const generations = new Map<string, bigint>();
    const planes = this.#connect(process, (asked) => void tellFlushed(leased, { edgeId: id, ...asked }));
    const remote = this.#noting(planes.access, generations);
    const access = mutant.access?.(remote) ?? remote;
    const leased = new LeasedCredit({ access, owners: planes, journal, clock: process.clock, logger, edgeId: id });
    this.life = { id, process, journal, credit: mutant.credit?.(leased) ?? leased, generations, running: 0 };
    this.isDraining = false;
    for (const { callId, cost } of journal.start.recovered) world.saw(`${id} recovers ${callId} for ${cost}`);
  }

  #connect(process: SimProcess, flush: PlanesDeps["flush"]): Planes {
    const onTrouble = () => {
      this.hadTrouble = true;
    };
    const seed = this.#world.plan.seed * 97 + this.#world.slots.indexOf(this) * 31 + this.#lives;
    return connectPlanes(this.#world, { name: this.name, process, onTrouble }, { edgeId: process.name, flush, seed });
  }

  /** Takes down the generation of each lease that the edge gets. */
  #noting(access: CreditAccess, generations: Map<string, bigint>): CreditAccess {
    const lease: CreditAccess["lease"] = async (request, options) => {
      try {
        const answer = await access.lease(request, options);
        generations.set(request.organizationId, answer.generation);
        return answer;
      } catch (thrown) {
        this.hadTrouble = true;
        throw thrown;
      }
    };
    return { ...access, lease };
  }

  /** A life ends now, in the middle of whatever it does; another one begins later. */
  die({ process, how }: { process: SimProcess; how: "kill" | "power" }): void {
    const world = this.#world;
    process.alive = false;
    this.life = undefined;
    this.isDraining = false;
    this.hadTrouble = true;
    world.saw(`${process.name} dies (${how})`);
    for (const call of world.calls.values()) {
      if (call.edgeId === process.name && !call.acknowledged && call.refusedWith === undefined) call.cutBy ??= how;
    }
    const { chance } = world;
    this.#disk = how === "power" ? this.#afterPowerCut() : this.#disk.afterKill(this.#tornWrite());
    const awayMs = chance.happens(0.12) ? chance.between(40_000, 90_000) : chance.between(20, 1500);
    world.time.after(world.calm ? 20 : awayMs, () => void this.start());
  }

  /** SIGTERM: takes nothing more, lets calls end, brings the rest to the ledger. */
  async terminate(): Promise<void> {
    const { life } = this;
    if (!life || this.isDraining) return;
    this.isDraining = true;
    const { process, credit } = life;
    this.#world.hit("SIGTERM of an edge");
    this.#world.time.after(DRAIN_MS, () => {
      if (process.alive) this.die({ process, how: "kill" });
    });
    while (life.running > 0) await process.clock.sleep(10);
    await credit.close().catch((error: unknown) => {
      // Its disk may fail it even now; then it is dead already.
      if (process.alive) throw error;
    });
    if (!process.alive) return;
    this.#world.saw(`${process.name} ends in peace`);
    this.die({ process, how: "kill" });
  }

  setCapacity(isFull: boolean): void {
    this.#disk.capacity = isFull ? this.#disk.usedBytes() + this.#world.chance.below(200) : Number.POSITIVE_INFINITY;
  }

  #onPoint(process: SimProcess, point: string): "die" | "go on" {
    const trap = this.#world.sprung(this.name, point);
    if (!trap) return "go on";
    if (trap.how === "fail") throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    this.die({ process, how: trap.how === "power" ? "power" : "kill" });
    return "die";
  }

  #onStep(process: SimProcess, step: DiskStep): void {
    this.#step = step;
    try {
      process.passes(step.type === "write" ? writePoint(step.bytes) : step.type);
    } finally {
      this.#step = undefined;
    }
  }

  #tornWrite(): { path: string; bytes: Uint8Array } | undefined {
    const { bytes, path } = this.#step ?? {};
    return bytes && path !== undefined ? { path, bytes: bytes.slice(0, this.#world.chance.below(bytes.length + 1)) } : undefined;
  }

  #afterPowerCut(): FakeDisk {
    const { chance } = this.#world;
    const survives = chance.pick(["nothing", "some", "all"]);
    return this.#disk.afterPowerCut({
      unsynced: (_path, bytes) => (survives === "nothing" ? 0 : survives === "all" ? bytes : chance.below(bytes + 1)),
    });
  }
}

/** As an edge does for a control plane that reads money: ended calls are settled first. */
async function tellFlushed(
  credit: Credit,
  { edgeId, flush, recall, organizationId, access }: { edgeId: string } & Parameters<PlanesDeps["flush"]>[0],
): Promise<void> {
  if (recall !== undefined) credit.recall(recall);
  await credit.settled(organizationId);
  // The edge may die where it sends.
  const tell = async () => access.flushed({ edgeId, flush }, { deadlineMs: FLUSHED_MS });
  await ignore(tell(), "the control plane waits for a second only");
}
