import { type DiskStep, type FakeDisk, fakeDisk } from "../../../common/disk-fixture.ts";
import { toJson } from "../../../common/json.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Journal } from "./journal.ts";
import { callId, FOLDER, finalOf, intentOf, openOn, progressOf, runCall, servedOf } from "./journal-fixture.ts";
import type { JournalSync } from "./writer.ts";

const CALLS = 500;
const AT_ONCE = 8;
const LIMITS = { fileBytesMax: 16_384, filesMax: 6, inMemoryMax: 20 };

/** Numbers below a limit, the same for the same seed. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A row as the ledger receives it. */
const onTheWire = (log: UsageLog) => Buffer.from(UsageLog.encode(log).finish()).toString("latin1");

/** What the world outside the journal saw, each in the order it happened. */
class World {
  /** Calls whose final was said to be safe: their clients have the last byte. */
  readonly ended: string[] = [];
  readonly begun: string[] = [];
  /** So many of them stand before a final that is safe: so are their intents. */
  begunSafe = 0;
  /** The rows that the ledger received. */
  readonly ledger: { callId: string; row: string }[] = [];
  readonly delivered: { callId: string; output: number }[] = [];
}

interface Cut {
  readonly disk: FakeDisk;
  readonly step: DiskStep;
  readonly ended: number;
  readonly begunSafe: number;
  readonly ledger: number;
  readonly delivered: number;
}

/** 500 calls, eight at a time, with a ledger that takes what is safe in batches. `onStep` sees the disk before every step. */
async function runScript(disk: FakeDisk, sync: JournalSync, onStep: (world: World, step: DiskStep) => void): Promise<World> {
  const { journal } = await openOn(disk, { sync, limits: LIMITS });
  const world = new World();
  disk.onStep = (step) => onStep(world, step);
  const pick = chance(7);
  let next = 0;
  const client = async () => {
    for (let index = next++; index < CALLS; index = next++) await playCall({ journal, world, pick }, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return world;
}

async function playCall(
  { journal, world, pick }: { journal: Journal; world: World; pick: (below: number) => number },
  index: number,
): Promise<void> {
  journal.intent(intentOf(index));
  world.begun.push(callId(index));
  await nextTurn();
  journal.served(servedOf(index));
  const output = 32 * (1 + pick(4));
  for (let sent = 32; sent <= output; sent += 32) {
    world.delivered.push({ callId: callId(index), output: sent });
    journal.progress(progressOf(index, sent));
    if (pick(2) === 0) await nextTurn();
  }
  const begunBefore = world.begun.length;
  await journal.final(finalOf(index, output));
  world.begunSafe = Math.max(world.begunSafe, begunBefore);
  world.ended.push(callId(index));
  if (pick(6) === 0) settleSome(journal, world, pick(20));
}

function settleSome(journal: Journal, world: World, count: number): void {
  let left = count;
  for (const { log, sequence } of journal.unacknowledged()) {
    if (left-- <= 0) break;
    world.ledger.push({ callId: log.callId, row: onTheWire(log) });
    journal.acknowledge(sequence);
  }
}

/** Opens what a crash left, and holds it against what the world saw before. */
class Checker {
  readonly #world: World;
  readonly #delivered = new Map<string, number>();
  #read = 0;
  opened = 0;
  recovered = 0;
  tornBytes = 0;

  constructor(world: World) {
    this.#world = world;
  }

  async check(disk: FakeDisk, cut: Cut, sync: JournalSync): Promise<void> {
    for (; this.#read < cut.delivered; this.#read++) {
      const { callId: call, output } = this.#world.delivered[this.#read] ?? { callId: "", output: 0 };
      this.#delivered.set(call, output);
    }
    const { journal, lines } = await openOn(disk, { sync, limits: LIMITS });
    const damage = lines.filter(({ level }) => level === "error");
    if (damage.length > 0) throw new Error(`a crash looks like damage: ${toJson(damage)}`);
    this.#checkOffered(
      cut,
      [...journal.unacknowledged()].map(({ log }) => log),
    );
    for (const log of journal.start.recovered) this.#checkRecovered(log);
    this.opened++;
    this.recovered += journal.start.recovered.length;
    this.tornBytes += journal.start.tornBytes;
  }

  #checkOffered(cut: Cut, logs: readonly UsageLog[]): void {
    const offered = new Map(logs.map((log) => [log.callId, onTheWire(log)]));
    if (offered.size !== logs.length) throw new Error("a call is offered twice");
    const ledger = new Map(this.#world.ledger.slice(0, cut.ledger).map(({ callId: call, row }) => [call, row]));
    const ended = this.#world.ended.slice(0, cut.ended);
    const isLost = (call: string) => !ledger.has(call) && !offered.has(call);
    const lost = ended.find(isLost);
    if (lost) throw new Error(`${lost} ended for its client and is lost`);
    const forgotten = this.#world.begun.slice(0, cut.begunSafe).find(isLost);
    if (forgotten) throw new Error(`${forgotten} was begun and is forgotten`);
    for (const [call, row] of offered) {
      const settled = ledger.get(call);
      if (settled !== undefined && settled !== row) throw new Error(`the ledger receives two rows of ${call}`);
    }
    const cutOff = logs.find(({ callId: call, status }) => status !== "success" && ended.includes(call));
    if (cutOff) throw new Error(`${cutOff.callId} ended well and is billed as cut off`);
  }

  #checkRecovered(log: UsageLog): void {
    const [output, delivered] = [log.usage?.output ?? 0n, BigInt(this.#delivered.get(log.callId) ?? 0)];
    if (output > delivered) throw new Error(`${log.callId} is billed for ${output} tokens, ${delivered} were delivered`);
    if (log.cost !== (output === 0n ? 0n : 100n * 150n + output * 600n)) throw new Error(`${log.callId} costs ${log.cost}`);
  }
}

async function cutEverywhere(
  sync: JournalSync,
  leftBy: (cut: Cut, pick: (below: number) => number) => FakeDisk[],
): Promise<{ cuts: Cut[]; checker: Checker }> {
  const disk = fakeDisk();
  const cuts: Cut[] = [];
  const world = await runScript(disk, sync, ({ ended, begunSafe, ledger, delivered }, step) => {
    // The writer uses its buffer again.
    const kept = step.bytes ? { ...step, bytes: new Uint8Array(step.bytes) } : step;
    cuts.push({ disk: disk.copy(), step: kept, ended: ended.length, begunSafe, ledger: ledger.length, delivered: delivered.length });
  });
  const checker = new Checker(world);
  const pick = chance(11);
  for (const cut of cuts) for (const left of leftBy(cut, pick)) await checker.check(left, cut, sync);
  return { cuts, checker };
}

test("a power cut at any step of 500 calls loses nothing that was said to be safe, bills no more than was delivered, and says nothing twice", async () => {
  const { cuts, checker } = await cutEverywhere("disk", ({ disk }, pick) => [
    disk.afterPowerCut(),
    disk.afterPowerCut({ unsynced: (_path, bytes) => pick(bytes + 1) }),
    disk.afterPowerCut({ unsynced: (_path, bytes) => bytes }),
  ]);
  expect(checker.opened).toBe(cuts.length * 3);
  const kinds = new Set(cuts.map(({ step }) => step.type));
  expect([...kinds].sort()).toEqual(["create", "datasync", "remove", "sync-folder", "write"]);
  expect(cuts.length).toBeGreaterThan(500);
  expect(checker.recovered).toBeGreaterThan(1000);
  expect(checker.tornBytes).toBeGreaterThan(0);
}, 60_000);

test("a killed process loses nothing that was said to be safe, wherever it died, in the middle of a write too", async () => {
  const { cuts, checker } = await cutEverywhere("process", ({ disk, step: { type, path, bytes } }, pick) => [
    disk.afterKill(),
    ...(type === "write" && bytes ? [disk.afterKill({ path, bytes: bytes.subarray(0, pick(bytes.length)) })] : []),
  ]);
  expect(cuts.length).toBeGreaterThan(200);
  expect(checker.recovered).toBeGreaterThan(1000);
  expect(checker.tornBytes).toBeGreaterThan(0);
}, 60_000);

test("a journal of 50 records cut at every byte keeps every record that is whole, and bills a call without its end for what it says", async () => {
  const { journal, disk } = await openOn(undefined, { sync: "process" });
  for (let index = 0; index < 12; index++) await runCall(journal, index);
  journal.intent(intentOf(12));
  journal.served(servedOf(12));
  await nextTurn();
  const [name = ""] = disk.list(FOLDER);
  const bytes = disk.read(`${FOLDER}/${name}`);
  const ends = recordEnds(bytes);
  expect(ends).toHaveLength(50);

  for (let size = 0; size <= bytes.length; size++) {
    const cut = fakeDisk();
    cut.create(`${FOLDER}/${name}`).write(bytes.subarray(0, size));
    const { journal: next } = await openOn(cut, { sync: "process" });
    const whole = ends.filter((end) => end <= size).length;
    const rows = Array.from(next.unacknowledged(), ({ log }) => [log.callId, log.status, log.cost]);
    // Compared as text: eleven thousand deep comparisons would take longer than all the rest.
    if (toJson(rows) !== toJson(expectedRows(whole))) throw new Error(`cut at ${size}: ${toJson(rows)}`);
    if (next.start.records !== whole) throw new Error(`cut at ${size}: ${next.start.records} records of ${whole}`);
  }
}, 60_000);

/** Four records a call: intent, served, progress, final. */
function expectedRows(records: number): unknown[] {
  const [finished, begun] = [Math.floor(records / 4), records % 4];
  const rows = Array.from({ length: finished }, (_, index) => [callId(index), "success", finalOf(index).cost]);
  if (begun > 0) rows.push([callId(finished), "cancelled", begun === 3 ? 100n * 150n + 32n * 600n : 0n]);
  return rows;
}

/** By the lengths alone, apart from the reader under test. */
function recordEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = bytes.readUInt16BE(6); at < bytes.length; ) {
    at += 8 + bytes.readUInt32BE(at);
    ends.push(at);
  }
  return ends;
}
