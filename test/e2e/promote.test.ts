import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { gwWith } from "../../cli/io-fixture.ts";
import { purchase, reportedCall, settle } from "../../control-plane/proof/ledger-fixture.ts";
import { checkLedger } from "../../control-plane/services/ledger/verify.ts";
import { COLLECTION_NAMES } from "../../control-plane/stores/collections.ts";
import { type FileStore, openEmbeddedStore } from "../../control-plane/stores/embedded/store.ts";
import { openMongoStore } from "../../control-plane/stores/mongo/store.ts";
import { collect } from "../../control-plane/stores/page.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../helpers/mongod.ts";

/** A million rows with PROMOTE_CALLS=500000: each call is a usage row and a ledger entry. */
const CALLS = Number(process.env["PROMOTE_CALLS"] ?? 2_000);
const KILLS = 5;
/** A million entries take minutes on a busy machine. */
const VERIFY_MS = 10 * 60_000;
const TOOL = resolve(import.meta.dirname, "../../control-plane/tools/promote-main.ts");

let folder: string;
let set: ReplicaSet | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-promote-"));
  if (await requireMongod()) set = await startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
}, 120_000);
afterAll(async () => {
  await set?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function fill(store: FileStore): Promise<void> {
  await store.transaction("every", async (tx) => {
    await tx.put("settings", { id: "schema", value: "2" });
    await tx.put("settings", { id: "secret-key-fingerprint", value: "finger" });
    await tx.put("counters", { id: "notices/0", value: 40 });
    await tx.put("contents", { id: "team_1/file_1", bytes: 5 });
  });
  await store.blobs.put(
    "records/team_1/file_1",
    (async function* () {
      yield Buffer.from("bytes");
    })(),
  );
  // A hundred of these are a transaction of the copy, so that five kills end before the copy does.
  for (let start = 0; start < 4_000; start += 400) {
    const rows = Array.from({ length: 400 }, (_, place) => ({
      id: `once_${start + place}`,
      requestHash: "hash",
      sealedAnswer: "sealed",
      expiresAt: start,
    }));
    await store.transaction("every", async (tx) => tx.insertNew("idempotency", rows));
  }
  for (let start = 0; start < CALLS; start += 400) {
    const organizationId = `org_${(start / 400) % 50}`;
    await purchase(store, { organizationId, amount: 1_000n, reference: `pur_${start}` });
    const rows = Array.from({ length: Math.min(400, CALLS - start) }, (_, place) =>
      reportedCall(`call_${start + place}`, 1n, { organizationId }),
    );
    await settle(store, rows);
  }
}

/** Runs the tool and kills it after some of its transactions; returns the last line that it wrote. */
async function killedRun(uri: string, afterLines: number): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, [TOOL, "--from", join(folder, "data"), "--database", "promoted"], {
    env: { ...process.env, MONGODB_URI: uri },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let [lines, last] = [0, ""];
  if (child.stdout) {
    for await (last of createInterface({ input: child.stdout })) if (++lines === afterLines) child.kill("SIGKILL");
  }
  expect(await exited).toEqual([null, "SIGKILL"]);
  return last;
}

test("a folder is copied into MongoDB, killed five times on the way, and both ledgers are equal", async () => {
  if (!set) return expect(await requireMongod()).toBeUndefined();
  const source = openEmbeddedStore(join(folder, "data", "control-plane"));
  await fill(source);
  const words = ["admin", "promote", "--from", join(folder, "data"), "--to", set.uri, "--database", "promoted"];
  const inUse = await gwWith(words);
  expect([inUse.exit, inUse.err]).toEqual([1, expect.stringContaining(`is in use by process ${process.pid}`)]);
  await source.close();
  const killedAfter: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) killedAfter.push(await killedRun(set.uri, randomInt(1, 5 + Math.floor(CALLS / 2_500))));
  const done = await gwWith([...words, "--json"]);
  expect([done.exit, done.err]).toEqual([0, expect.stringContaining("SECRET_KEY")]);
  const printed = JSON.parse(done.out);
  expect(printed.target).toEqual(printed.source);
  expect(printed.target).toMatchObject({ ok: true, sum: 0, entries: CALLS + Math.ceil(CALLS / 400) });
  const speed = `${printed.records} records; the last run had ${printed.seconds} s; killed after ${killedAfter.join(", ")}`;
  if (process.env["PROMOTE_CALLS"])
    process.stderr.write(`${speed}
`);

  const [opened, target] = [
    openEmbeddedStore(join(folder, "data", "control-plane")),
    await openMongoStore({ uri: set.uri, database: "promoted" }),
  ];
  for (const collection of COLLECTION_NAMES) {
    if (["counters", "ledgerHead", "settings"].includes(collection)) continue;
    expect(await collect(target.scan(collection))).toEqual(await collect(opened.scan(collection)));
  }
  // The numbers that were given out in the one slot are the beginning of every slot's.
  expect(await collect(target.scan("counters"))).toEqual([{ id: "notices", value: 40 }]);
  const content = await target.blobs.get("records/team_1/file_1");
  expect(Buffer.concat(content ? await collect(content) : []).toString()).toBe("bytes");
  // The old chain is closed at its end, and the next entry goes on in the chain of its slot.
  const end = await opened.get("ledgerHead", "0");
  expect(await target.get("ledgerHead", "head")).toMatchObject({ seq: printed.source.lastSeq, hash: end?.hash });
  await purchase(target, { organizationId: "org_1", amount: 1n, reference: "after" });
  expect(await checkLedger(target, AbortSignal.timeout(VERIFY_MS))).toMatchObject({
    ok: true,
    sum: 0n,
    entries: BigInt(printed.target.entries + 1),
  });
  await Promise.all([opened.close(), target.close()]);
  expect((await gwWith(words)).err).toContain("The database is not empty");
}, 1_800_000);
