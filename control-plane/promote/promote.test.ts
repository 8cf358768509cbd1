import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom as random } from "../../common/random.ts";
import { fillLedger, plant, purchase, reportedCall, settle } from "../proof/ledger-fixture.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { COLLECTION_NAMES } from "../stores/collections.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import type { FileStore } from "../stores/file-store.ts";
import { collect } from "../stores/page.ts";
import { ToolProblem } from "../tools/tool.ts";
import { Copies } from "./copies.ts";
import { FOLDER_SETTINGS, readMark, refusePromoted, removeMark, watchMark } from "./mark.ts";
import { readPosition, refuseUnfinishedCopy } from "./position.ts";
import { type Progress, promote } from "./promote.ts";

let folder: string;
let source: FileStore;
let target: FileStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-promote-"));
  [source, target] = [openEmbeddedStore(join(folder, "source")), openEmbeddedStore(join(folder, "target"))];
  await source.transaction("settings", async (tx) => {
    await tx.put("settings", { id: "schema", value: "3" });
    await tx.put("settings", { id: "secret-key-fingerprint", value: "finger" });
  });
  await fillLedger(source);
});
afterEach(async () => {
  await Promise.all([source.close(), target.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const clock: Clock = { ...systemClock, sleep: async () => void (await nextTurn()) };
const signal = AbortSignal.timeout(60_000);
const run = (progress: (state: Progress) => void = () => {}, users: () => readonly number[] = () => []) =>
  promote({
    source,
    target,
    signal,
    progress,
    users,
    copies: new Copies(join(folder, "source"), openEmbeddedStore),
    database: "db",
    clock,
    random,
  });
/** Ends a run in the middle, as a kill would. */
const killed = (state: Progress) => {
  if ("collection" in state) throw new Error("killed");
};
const text = async function* (content: string) {
  yield Buffer.from(content);
};
const blobOf = async (store: FileStore, name: string) => {
  const content = await store.blobs.get(name);
  return content && Buffer.concat(await collect(content)).toString();
};

test("a copy has every record, and both ledgers are valid and equal", async () => {
  const promoted = await run();
  expect([promoted.source.ok, promoted.target]).toEqual([true, promoted.source]);
  expect(await collect(target.scan("usage"))).toEqual(await collect(source.scan("usage")));
  expect((await collect(target.scan("settings"))).map(({ id }) => id)).toEqual(["schema", "secret-key-fingerprint"]);
  await refuseUnfinishedCopy(target);
});

test("a copy that is interrupted after any of its transactions goes on there, and no control plane starts on it meanwhile", async () => {
  await settle(
    source,
    Array.from({ length: 900 }, (_, place) => reportedCall(`many_${place}`, 1n)),
  );
  let runs = 0;
  for (let done = false; !done; runs++) {
    done = await run(killed).then(
      () => true,
      async (error: Error) => {
        expect(error.message).toBe("killed");
        await expect(refuseUnfinishedCopy(target)).rejects.toThrow("unfinished copy");
        return false;
      },
    );
  }
  expect(runs).toBeGreaterThan(10);
  expect(await target.count("ledger")).toBe(await source.count("ledger"));
});

test("a database with other data is refused and stays as it is", async () => {
  await purchase(target, { organizationId: "org_9", amount: 1n, reference: "mine" });
  await expect(run()).rejects.toThrow("is not empty: it has accounts");
  expect([await target.count("usage"), await readPosition(target)]).toEqual([0, undefined]);
});

test("a last round does not go on after the folder was written to, nor with another folder", async () => {
  await expect(run(killed)).rejects.toThrow("killed");
  const late = () => purchase(source, { organizationId: "org_1", amount: 1n, reference: "later" });
  await expect(late()).rejects.toThrow("moves to another store");
  await source.unfence();
  await late();
  await expect(run()).rejects.toThrow("was written to after it was handed over");
  await plant(source, "settings", "secret-key-fingerprint", { value: "another" });
  await expect(run()).rejects.toThrow("unfinished copy of another folder");
});

test("a wrong ledger is not promoted", async () => {
  await plant(source, "accounts", "org:org_1", { balance: 5n });
  await expect(run()).rejects.toThrow(ToolProblem);
  await expect(refuseUnfinishedCopy(target)).rejects.toThrow("unfinished copy");
});

/** A platform that uses the folder until it is marked: before each step of the copy it settles a call, renames and removes things. */
function runningPlatform() {
  let [calls, isRunning] = [0, true];
  const work = async () => {
    if (await readMark(source)) {
      isRunning = false;
      return;
    }
    await settle(source, [reportedCall(`live_${calls}`, 1n)]);
    const [taken, free] = calls % 2 === 0 ? ["one@x", "two@x"] : ["two@x", "one@x"];
    await source.transaction("every", async (tx) => {
      await tx.remove("users", "user_1");
      await tx.remove("users", "user_2");
      await tx.put("settings", { id: `seen_${calls}`, value: "1" });
      await tx.remove("settings", `seen_${calls - 1}`);
    });
    await source.transaction("every", async (tx) => {
      tx.insertNew("users", [
        { id: "user_1", email: taken },
        { id: "user_2", email: free },
      ] as never);
    });
    calls++;
  };
  return { work, users: () => (isRunning ? [4711] : []), calls: () => calls };
}

async function expectSameRecords(): Promise<void> {
  for (const collection of COLLECTION_NAMES) {
    const [found, expected] = [await collect(target.scan(collection)), await collect(source.scan(collection))];
    expect([collection, found]).toEqual([
      collection,
      expected.filter(({ id }) => collection !== "settings" || !FOLDER_SETTINGS.includes(String(id))),
    ]);
  }
}

test("a folder in use is promoted in rounds, killed after each of its transactions, and has every call that was settled meanwhile", async () => {
  const platform = runningPlatform();
  await settle(
    source,
    Array.from({ length: 2_500 }, (_, place) => reportedCall(`many_${place}`, 1n)),
  );
  const notes: string[] = [];
  // The platform goes on each time that the tool asks who uses the folder.
  let pending = Promise.resolve();
  const users = () => {
    pending = pending.then(platform.work);
    return platform.users();
  };
  let kills = 0;
  for (let done = false; !done; ) {
    const progress = (state: Progress) => ("note" in state ? notes.push(state.note) : killed(state));
    done = await run(progress, users).then(
      () => true,
      async (error: Error) => {
        expect(error.message).toBe("killed");
        kills++;
        await pending;
        for (let call = 0; call < 3; call++) await platform.work();
        return false;
      },
    );
  }
  await pending;
  expect([kills > 10, platform.calls() > 20, notes.filter((note) => note.includes("changes")).length >= 3]).toEqual([true, true, true]);
  await expectSameRecords();
  expect(await checkLedger(target, signal)).toEqual(await checkLedger(source, signal));
  expect(await target.count("usage")).toBe(5 + 2_500 + platform.calls());
});

test("a content that arrives, is replaced or is removed while the folder is in use is in the copy as it is at the end", async () => {
  const rows = ["arrives", "replaced", "removed", "stays"].map((id) => ({ id, bytes: 3 }));
  await source.transaction("every", async (tx) => tx.insertNew("contents", rows));
  for (const id of ["replaced", "removed", "stays"]) await source.blobs.put(`records/${id}`, text("old"));
  let isRunning = true;
  let pending = Promise.resolve();
  const change = async () => {
    // The rows stay the same, as those of uploads of an announced size do.
    for (const id of ["arrives", "replaced"]) await source.blobs.put(`records/${id}`, text("new"));
    await source.blobs.remove("records/removed");
    await source.transaction("every", (tx) => tx.remove("contents", "removed"));
  };
  const leave = () => {
    isRunning = false;
  };
  const progress = (state: Progress) => {
    if ("collection" in state && state.collection === "blobs" && state.copied === 3) pending = change();
    if ("note" in state && state.note.includes("is marked")) pending = pending.then(leave);
  };
  const put = target.blobs.put.bind(target.blobs);
  const names: string[] = [];
  Object.assign(target.blobs, {
    put: async (...args: Parameters<typeof put>) => {
      names.push(args[0]);
      return put(...args);
    },
  });
  await run(progress, () => (isRunning ? [4711] : []));
  await pending;
  expect(await Promise.all(rows.map(({ id }) => blobOf(target, `records/${id}`)))).toEqual(["new", "new", undefined, "old"]);
  expect(names.filter((name) => name === "records/stays")).toHaveLength(1);
  expect(await target.count("contents")).toBe(3);
});

test("a content whose blob is in a copy before its row is in the database at the end", async () => {
  // As of an upload that ended while the copy was made: blobs are linked after the records were copied.
  await source.blobs.put("records/late", text("late"));
  let isRunning = true;
  let pending: Promise<unknown> = Promise.resolve();
  const arrive = () => source.transaction("every", async (tx) => tx.insertNew("contents", [{ id: "late", bytes: 4 }]));
  const progress = (state: Progress) => {
    if ("note" in state && state.note.startsWith("round 0:") && state.note.endsWith("changes")) pending = arrive();
    if ("note" in state && state.note.includes("is marked")) isRunning = false;
  };
  await run(progress, () => (isRunning ? [4711] : []));
  await pending;
  expect([await target.count("contents"), await blobOf(target, "records/late")]).toEqual([1, "late"]);
});

test("a promotion whose copies are gone is refused before the running platform is stopped", async () => {
  const killedAfterRound = (state: Progress) => {
    if ("note" in state && state.note.startsWith("round 0:") && state.note.endsWith("changes")) throw new Error("killed");
  };
  await expect(run(killedAfterRound, () => [4711])).rejects.toThrow("killed");
  await new Copies(join(folder, "source"), openEmbeddedStore).remove();
  await expect(run(undefined, () => [4711])).rejects.toThrow("Drop the database and begin again");
  expect(await readMark(source)).toBeUndefined();
});

test("a control plane goes on looking for the mark after a read that failed", async () => {
  let reads = 0;
  const ended = Promise.withResolvers<void>();
  const store = {
    get: async () => {
      if (++reads < 3) throw new Error("not readable now");
      return { id: "promoted", value: JSON.stringify({ id: "a", database: "db", at: 1 }) };
    },
  } as unknown as FileStore;
  const stop = watchMark({ store, clock, logger: silentLogger, end: ended.resolve });
  await ended.promise;
  stop();
  expect(reads).toBe(3);
});

test("no control plane starts on a folder that was handed over, and no other promotion, until it is taken back", async () => {
  await refusePromoted(source, "data");
  await run();
  await expect(refusePromoted(source, "data")).rejects.toThrow("data was handed over to the MongoDB database db at ");
  const other = openEmbeddedStore(join(folder, "other"));
  const again = {
    source,
    target: other,
    signal,
    progress: () => {},
    users: () => [],
    copies: new Copies(folder, openEmbeddedStore),
    database: "other",
  };
  await expect(promote({ ...again, clock, random })).rejects.toThrow("was handed over to the database db");
  await removeMark(source);
  await refusePromoted(source, "data");
  await other.close();
});

test("a folder with a wrong ledger is not handed over while it is in use", async () => {
  await plant(source, "accounts", "org:org_1", { balance: 5n });
  await expect(run(undefined, () => [4711])).rejects.toThrow("The ledger of the folder is not valid");
  expect(await readMark(source)).toBeUndefined();
});
