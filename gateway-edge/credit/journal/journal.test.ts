import { AppError } from "../../../common/errors.ts";
import { settleWork } from "../../access/clock-fixture.ts";
import { callId, FOLDER, finalOf, intentOf, openOn, progressOf, runCall, servedOf } from "./journal-fixture.ts";

const SMALL_FILES = { limits: { fileBytesMax: 2000 } };

const callsOf = (settlements: Iterable<{ log: { callId: string } }>) => Array.from(settlements, ({ log }) => log.callId);
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);

describe("what a start finds", () => {
  test("an empty folder is an empty journal, and an edge that served nothing leaves no file", async () => {
    const { journal, disk } = await openOn();
    const nothing = { files: 0, records: 0, unacknowledged: 0, recovered: [], tornBytes: 0, damagedFiles: [], endedEdges: [] };
    expect(journal.start).toEqual(nothing);
    await journal.close();
    expect(disk.list(FOLDER)).toEqual([]);
  });

  test("finished calls that the ledger did not acknowledge are offered again, in order, field by field", async () => {
    const { journal, disk } = await openOn();
    for (const index of numbers(5)) await runCall(journal, index);
    const { journal: next } = await openOn(disk.afterPowerCut());
    expect(Array.from(next.unacknowledged(), ({ log }) => log)).toEqual(numbers(5).map((index) => finalOf(index)));
    expect(next.start).toMatchObject({ unacknowledged: 5, recovered: [] });
  });

  test("a call cut off in the middle is billed for the delivered tokens it had written down, at the prices it was served at", async () => {
    const { journal, disk } = await openOn();
    journal.intent(intentOf(1));
    journal.served(servedOf(1));
    journal.progress(progressOf(1, 32));
    journal.progress(progressOf(1, 64));
    await settleWork();
    const { journal: next } = await openOn(disk.afterPowerCut());
    expect(next.start.recovered).toHaveLength(1);
    expect(next.start.recovered[0]).toMatchObject({
      callId: callId(1),
      status: "cancelled",
      errorCode: "GATEWAY_RESTARTED",
      organizationId: intentOf(1).organizationId,
      deploymentId: "dep_1",
      priceVersion: 3,
      usage: { input: 100n, output: 64n, total: 164n, source: "estimated" },
      cost: 100n * 150n + 64n * 600n,
      latencyMs: 640,
      completedAt: new Date(intentOf(1).createdAtMs + 640),
    });
    expect(callsOf(next.unacknowledged())).toEqual([callId(1)]);
  });

  test("a call without a served record, or without delivered tokens, is a row that costs nothing", async () => {
    const { journal, disk } = await openOn();
    journal.intent(intentOf(1));
    journal.intent(intentOf(2));
    journal.served(servedOf(2));
    await settleWork();
    const { journal: next } = await openOn(disk.afterPowerCut());
    const [unserved, undelivered] = next.start.recovered;
    expect(unserved).toMatchObject({ cost: 0n, deploymentId: "", usage: { total: 0n } });
    expect(undelivered).toMatchObject({ cost: 0n, deploymentId: "dep_1", usage: { total: 0n } });
  });

  test("a call is recovered once: the next crash finds its row, the same to the last field", async () => {
    const { journal, disk } = await openOn();
    journal.intent(intentOf(1));
    journal.served(servedOf(1));
    journal.progress(progressOf(1, 32));
    await settleWork();
    const second = await openOn(disk.afterPowerCut());
    const third = await openOn(second.disk.afterPowerCut());
    expect(third.journal.start.recovered).toEqual([]);
    expect(Array.from(third.journal.unacknowledged(), ({ log }) => log)).toEqual(second.journal.start.recovered);
  });

  test("each start has an epoch above the last, and sequences go on, whatever the clock says", async () => {
    const { journal, disk } = await openOn();
    await runCall(journal, 1);
    const [first] = journal.unacknowledged();
    const past = { now: () => 5, monotonicMs: () => 0, sleep: async () => {}, after: () => () => {} };
    const { journal: next } = await openOn(disk.afterPowerCut(), { clock: past });
    expect(next.epoch).toBe(journal.epoch + 1);
    await runCall(next, 2);
    const [, second] = next.unacknowledged();
    expect(second?.sequence).toBeGreaterThan(first?.sequence ?? Number.NaN);
  });

  test("a damaged file is reported and copied aside; records before the damage, and in other files, are settled", async () => {
    const { journal, disk } = await openOn(undefined, SMALL_FILES);
    for (const index of numbers(9)) await runCall(journal, index);
    const [first = ""] = disk.list(FOLDER).sort();
    const path = `${FOLDER}/${first}`;
    const bytes = disk.read(path);
    const goodCalls = 1;
    const at = bytes.indexOf(callId(goodCalls)) + 3;
    bytes[at] = (bytes[at] as number) ^ 1;
    disk.remove(path);
    disk.create(path).write(bytes);
    const inFile = numbers(9).filter((index) => bytes.includes(callId(index)));

    const { journal: next, lines, disk: after } = await openOn(disk, SMALL_FILES);

    expect(next.start.damagedFiles).toEqual([path]);
    expect(lines.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(after.read(`${path}.damaged`)).toEqual(bytes);
    expect(callsOf(next.unacknowledged())).toEqual([callId(0), ...numbers(9 - inFile.length, inFile.length).map(callId)]);
    // And a second start reads the same, without a new alarm.
    const again = await openOn(after.afterKill(), SMALL_FILES);
    expect(again.journal.start.damagedFiles).toEqual([]);
    expect(callsOf(again.journal.unacknowledged())).toEqual(callsOf(next.unacknowledged()));
  });

  test("a file with an unreadable header is moved aside, and its epoch is not used again", async () => {
    const { journal, disk } = await openOn();
    await runCall(journal, 1);
    const [name = ""] = disk.list(FOLDER);
    const bytes = disk.read(`${FOLDER}/${name}`);
    bytes[20] = 0xff;
    disk.remove(`${FOLDER}/${name}`);
    disk.create(`${FOLDER}/${name}`).write(bytes);
    const { journal: next, lines } = await openOn(disk);
    expect(next.epoch).toBe(journal.epoch + 1);
    expect(lines.some(({ level }) => level === "error")).toBe(true);
    expect(disk.read(`${FOLDER}/${name}.damaged`)).toEqual(bytes);
  });
});

describe("writing", () => {
  test("records of one turn are one write, and records that arrive during a sync share the next", async () => {
    const { journal, disk } = await openOn();
    await runCall(journal, 0);
    const steps: string[] = [];
    disk.onStep = ({ type }) => void steps.push(type);
    await Promise.all(numbers(100, 1).map((index) => runCall(journal, index)));
    expect(steps).toEqual(["write", "datasync"]);
  });

  test("a final is not safe before its sync in `disk` mode, and needs none in `process` mode", async () => {
    for (const [sync, synced] of [
      ["disk", true],
      ["process", false],
    ] as const) {
      const { journal, disk } = await openOn(undefined, { sync });
      const steps: string[] = [];
      disk.onStep = ({ type }) => void steps.push(type);
      await runCall(journal, 1);
      expect(steps.includes("datasync")).toBe(synced);
    }
  });

  test("only what is safe is offered to the ledger", async () => {
    const { journal } = await openOn();
    const ending = runCall(journal, 1);
    expect(callsOf(journal.unacknowledged())).toEqual([]);
    await ending;
    expect(callsOf(journal.unacknowledged())).toEqual([callId(1)]);
  });

  test("when a sync fails no row is reported durable, no more records are accepted, and the process must end", async () => {
    const { journal, disk, broken } = await openOn();
    disk.onStep = ({ type }) => {
      if (type === "datasync") throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    await expect(runCall(journal, 1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(broken).toHaveLength(1);
    expect(() => journal.intent(intentOf(2))).toThrow("restarted");
    await expect(journal.final(finalOf(2))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(journal.healthy().ok).toBe(false);
  });

  test("a row too large for a record is refused before it is written, and the journal goes on", async () => {
    const { journal } = await openOn();
    await expect(journal.final({ ...finalOf(1), tags: ["x".repeat(2_000_000)] })).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    await runCall(journal, 2);
    expect(callsOf(journal.unacknowledged())).toEqual([callId(2)]);
  });
});

describe("files", () => {
  test("a full file is followed by the next, and files whose finals are all acknowledged are removed", async () => {
    const { journal, disk } = await openOn(undefined, SMALL_FILES);
    for (const index of numbers(20)) await runCall(journal, index);
    expect(disk.list(FOLDER).length).toBeGreaterThan(5);
    const all = [...journal.unacknowledged()];
    journal.acknowledge(all[9]?.sequence ?? 0);
    expect(callsOf(journal.unacknowledged())).toEqual(numbers(10, 10).map(callId));
    const half = disk.list(FOLDER).length;
    journal.acknowledge(all[19]?.sequence ?? 0);
    await settleWork();
    expect(disk.list(FOLDER).length).toBeLessThan(half);
    expect(disk.list(FOLDER).length).toBeLessThanOrEqual(2);
    expect(journal.pending()).toBe(0);
  });

  test("what was acknowledged is not offered after a restart, even when all files but the last are gone", async () => {
    const { journal, disk } = await openOn(undefined, SMALL_FILES);
    for (const index of numbers(20)) await runCall(journal, index);
    const all = [...journal.unacknowledged()];
    journal.acknowledge(all[14]?.sequence ?? 0);
    await runCall(journal, 20);
    const { journal: next } = await openOn(disk.afterPowerCut(), SMALL_FILES);
    expect(callsOf(next.unacknowledged())).toEqual(numbers(6, 15).map(callId));
  });

  test("the last file stays although it is acknowledged: it knows how far epochs and sequences went", async () => {
    const { journal, disk } = await openOn();
    await runCall(journal, 1);
    for (const { sequence } of journal.unacknowledged()) journal.acknowledge(sequence);
    await settleWork();
    const second = await openOn(disk.afterPowerCut());
    const third = await openOn(second.disk.afterPowerCut());
    expect(third.journal.epoch).toBe(journal.epoch + 1);
    await runCall(third.journal, 2);
    expect(Array.from(third.journal.unacknowledged(), ({ sequence }) => sequence)).toEqual([9]);
  });

  test("a file with the intent of a running call stays, though everything else in it is acknowledged, until the call's end is safe", async () => {
    const { journal, disk } = await openOn(undefined, SMALL_FILES);
    journal.intent(intentOf(100));
    journal.served(servedOf(100));
    journal.progress(progressOf(100, 32));
    for (const index of numbers(10)) await runCall(journal, index);
    const settled = [...journal.unacknowledged()].map(({ sequence }) => sequence);
    journal.acknowledge(settled[8] ?? 0);
    await settleWork();
    const { journal: next } = await openOn(disk.afterKill(), SMALL_FILES);
    expect(next.start.recovered.map((log) => [log.callId, log.usage?.output])).toEqual([[callId(100), 32n]]);

    const [oldest] = disk.list(FOLDER).sort();
    const ending = journal.final(finalOf(100));
    journal.acknowledge(settled[9] ?? 0);
    expect(disk.list(FOLDER)).toContain(oldest);
    await ending;
    await runCall(journal, 11);
    for (const { sequence } of [...journal.unacknowledged()]) journal.acknowledge(sequence);
    expect(disk.list(FOLDER)).not.toContain(oldest);
  });

  test("a final keeps the lease of its call, in memory or read from its file; after a restart it has none", async () => {
    const limits = { fileBytesMax: 2000, inMemoryMax: 4 };
    const { journal, disk } = await openOn(undefined, { limits });
    for (const index of numbers(20)) await journal.final(finalOf(index), BigInt(index % 7));
    const generations = (from: typeof journal) => [...from.unacknowledged()].map(({ leaseGeneration }) => leaseGeneration);
    const expected = numbers(20).map((index) => BigInt(index % 7));
    expect(generations(journal)).toEqual(expected);
    journal.acknowledge([...journal.unacknowledged()][8]?.sequence ?? 0);
    expect(generations(journal)).toEqual(expected.slice(9));
    await settleWork();
    const { journal: next } = await openOn(disk.afterKill(), { limits });
    expect(generations(next)).toEqual(expected.slice(9).map(() => 0n));
  });

  test("one long call does not keep all files: it is written again into the newest, with all that is known of it", async () => {
    const { journal, disk } = await openOn(undefined, { limits: { fileBytesMax: 2000, filesMax: 4 } });
    journal.intent(intentOf(1000));
    journal.served(servedOf(1000));
    journal.progress(progressOf(1000, 32));
    let most = 0;
    for (const index of numbers(200)) {
      await runCall(journal, index);
      for (const { sequence } of [...journal.unacknowledged()]) journal.acknowledge(sequence);
      most = Math.max(most, disk.list(FOLDER).length);
    }
    expect(most).toBeLessThanOrEqual(7);
    const { journal: next } = await openOn(disk.afterPowerCut());
    expect(next.start.recovered.map((log) => [log.callId, log.usage?.output, log.cost])).toEqual([
      [callId(1000), 32n, 100n * 150n + 32n * 600n],
    ]);
  });

  test("a backlog larger than memory may hold is read from the files again, each row once and in order, also while it grows", async () => {
    const { journal } = await openOn(undefined, { limits: { fileBytesMax: 2000, inMemoryMax: 10 } });
    for (const index of numbers(60)) await runCall(journal, index);
    const seen: string[] = [];
    let more = 60;
    for (const { log, sequence } of journal.unacknowledged()) {
      seen.push(log.callId);
      if (more < 100) await runCall(journal, more++);
      if (seen.length % 7 === 0) journal.acknowledge(sequence);
    }
    expect(seen).toEqual(numbers(100).map(callId));
    expect(journal.pending()).toBe(100 - 98);
  });

  test("a sequence that was never given out cannot be acknowledged", async () => {
    const { journal } = await openOn();
    await runCall(journal, 1);
    expect(() => journal.acknowledge(1000)).toThrow(AppError);
    expect(journal.pending()).toBe(1);
  });
});

describe("a full disk", () => {
  test("refuses new calls, keeps the ends of running ones, and goes on by itself when there is room again", async () => {
    const { journal, disk, clock } = await openOn();
    for (const index of numbers(5)) await runCall(journal, index);
    for (const index of numbers(20, 5)) journal.intent(intentOf(index));
    await settleWork();
    disk.capacity = disk.usedBytes() + 100;

    const ends = numbers(20, 5).map((index) => {
      journal.served(servedOf(index));
      return journal.final(finalOf(index));
    });
    await settleWork();
    expect(journal.healthy()).toEqual({ ok: false, reason: expect.stringContaining("disk is full") });
    expect(() => journal.intent(intentOf(50))).toThrow(
      expect.objectContaining({ code: "UNAVAILABLE", message: expect.stringContaining("disk is full") }),
    );
    await clock.advance(3000);
    expect(journal.healthy().ok).toBe(false);

    disk.capacity = Number.POSITIVE_INFINITY;
    await clock.advance(1000);
    await Promise.all(ends);
    expect(journal.healthy()).toEqual({ ok: true });
    await runCall(journal, 50);
    const { journal: next } = await openOn(disk.afterPowerCut());
    expect(Array.from(next.unacknowledged(), ({ log }) => log)).toEqual([...numbers(25), 50].map((index) => finalOf(index)));
    expect(next.start).toMatchObject({ recovered: [], tornBytes: 0 });
  });

  test("leaves no half record behind: a crash while it is full loses nothing that was safe", async () => {
    const { journal, disk } = await openOn();
    for (const index of numbers(5)) await runCall(journal, index);
    journal.intent(intentOf(5));
    await settleWork();
    disk.capacity = disk.usedBytes() + 50;
    void journal.final(finalOf(5));
    await settleWork();
    const { journal: next, lines } = await openOn(disk.afterKill());
    expect(callsOf(next.unacknowledged())).toEqual(numbers(6).map(callId));
    expect(next.start.tornBytes).toBe(0);
    expect(lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("what waits can be settled all the same, and a row that the ledger has keeps no client waiting", async () => {
    const { journal, disk } = await openOn();
    await runCall(journal, 0);
    journal.intent(intentOf(1));
    await settleWork();
    disk.capacity = disk.usedBytes();
    const ending = journal.final(finalOf(1));
    await settleWork();
    expect(callsOf(journal.unacknowledged())).toEqual([callId(0), callId(1)]);
    for (const { sequence } of [...journal.unacknowledged()]) journal.acknowledge(sequence);
    await ending;
  });

  test("an acknowledgement that frees files is reason enough to try again at once", async () => {
    const { journal, disk } = await openOn(undefined, SMALL_FILES);
    for (const index of numbers(20)) await runCall(journal, index);
    journal.intent(intentOf(20));
    await settleWork();
    disk.capacity = disk.usedBytes();
    const ending = journal.final(finalOf(20));
    await settleWork();
    expect(journal.healthy().ok).toBe(false);
    journal.acknowledge([...journal.unacknowledged()][19]?.sequence ?? 0);
    expect(journal.healthy().ok).toBe(true);
    await ending;
  });

  test("at the start: what is there is offered, calls are refused, and recovered rows are written once there is room", async () => {
    const { journal, disk } = await openOn();
    await runCall(journal, 0);
    journal.intent(intentOf(1));
    await settleWork();
    const full = disk.afterPowerCut();
    full.capacity = full.usedBytes();
    const { journal: next, clock } = await openOn(full);
    expect(next.healthy().ok).toBe(false);
    expect(() => next.intent(intentOf(2))).toThrow("disk is full");
    expect(callsOf(next.unacknowledged())).toEqual([callId(0), callId(1)]);
    full.capacity = Number.POSITIVE_INFINITY;
    await clock.advance(1000);
    await settleWork();
    const { journal: last } = await openOn(full.afterPowerCut());
    expect(callsOf(last.unacknowledged())).toEqual([callId(0), callId(1)]);
    expect(last.start.recovered).toEqual([]);
  });

  test("what waits has a bound; a row beyond it is refused and written to the log, never dropped in silence", async () => {
    const { journal, disk, lines } = await openOn(undefined, { limits: { heldBytesMax: 70_000 } });
    await runCall(journal, 0);
    for (const index of numbers(400, 1)) journal.intent(intentOf(index));
    await settleWork();
    disk.capacity = disk.usedBytes();
    const ends = await Promise.race([
      Promise.all(numbers(400, 1).map((index) => journal.final(finalOf(index)))).catch((error: unknown) => error),
      settleWork(),
    ]);
    expect(ends).toBeUndefined();
    const later = await Promise.allSettled(numbers(400, 401).map((index) => Promise.race([journal.final(finalOf(index)), settleWork()])));
    const refused = later.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    expect(lines.filter(({ message }) => message === "a finished call could not be written to the journal")).toHaveLength(refused.length);
  });

  test("another failure than a full disk is reported as such, and recovered from as well", async () => {
    const { journal, disk, clock } = await openOn();
    await runCall(journal, 0);
    disk.onStep = ({ type }) => {
      if (type === "write" || type === "truncate") throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    const ending = runCall(journal, 1);
    await settleWork();
    expect(journal.healthy()).toEqual({ ok: false, reason: expect.stringContaining("cannot write its journal") });
    disk.onStep = undefined;
    await clock.advance(1000);
    await ending;
    const { journal: next } = await openOn(disk.afterPowerCut());
    expect(callsOf(next.unacknowledged())).toEqual([callId(0), callId(1)]);
  });
});
