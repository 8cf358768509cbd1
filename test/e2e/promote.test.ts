import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { gwWith } from "../../cli/io-fixture.ts";
import { refusePromoted } from "../../control-plane/promote/mark.ts";
import { purchase, reportedCall, settle } from "../../control-plane/proof/ledger-fixture.ts";
import { checkLedger } from "../../control-plane/services/ledger/verify.ts";
import { COLLECTION_NAMES } from "../../control-plane/stores/collections.ts";
import { openEmbeddedStore } from "../../control-plane/stores/embedded/store.ts";
import type { FileStore } from "../../control-plane/stores/file-store.ts";
import { openMongoStore } from "../../control-plane/stores/mongo/store.ts";
import { collect } from "../../control-plane/stores/page.ts";
import { chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../helpers/mongod.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { balanceOf, expectLedgerVerifies } from "./ledger-checks.ts";

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
    await tx.put("settings", { id: "schema", value: "3" });
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

interface KilledRun {
  readonly uri: string;
  readonly from: string;
  readonly database: string;
  /** Whether the tool is killed when it has written this line. */
  readonly at: (line: string, count: number) => boolean;
}

/** Runs the tool and kills it in the middle; returns the last line that it wrote. */
async function killedRun({ uri, from, database, at }: KilledRun): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, [TOOL, "--from", from, "--database", database], {
    env: { ...process.env, MONGODB_URI: uri },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let [lines, last] = [0, ""];
  if (child.stdout) {
    for await (last of createInterface({ input: child.stdout })) if (at(last, ++lines)) child.kill("SIGKILL");
  }
  expect(await exited).toEqual([null, "SIGKILL"]);
  return last;
}

test("a folder is copied into MongoDB, killed five times on the way, and both ledgers are equal", async () => {
  if (!set) return expect(await requireMongod()).toBeUndefined();
  const source = openEmbeddedStore(join(folder, "data", "control-plane"));
  await fill(source);
  const words = ["admin", "promote", "--from", join(folder, "data"), "--to", set.uri, "--database", "promoted"];
  await source.close();
  const killedAfter: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const lines = randomInt(1, 5 + Math.floor(CALLS / 2_500));
    const run = { uri: set.uri, from: join(folder, "data"), database: "promoted" };
    killedAfter.push(await killedRun({ ...run, at: (_line, count) => count === lines }));
  }
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
  const other = await gwWith([...words.slice(0, -1), "other"]);
  expect([other.exit, other.err]).toEqual([1, expect.stringContaining("was handed over to the database promoted")]);
  const back = await gwWith(["admin", "promote", "--from", join(folder, "data"), "--cancel"]);
  expect([back.exit, back.err]).toEqual([0, expect.stringContaining("the database promoted, and drop it")]);
  const again = openEmbeddedStore(join(folder, "data", "control-plane"));
  await purchase(again, { organizationId: "org_1", amount: 1n, reference: "back" });
  await refusePromoted(again, "data");
  await again.close();
}, 1_800_000);

const ONE_USD = 1_000_000_000;
const CALLERS = 3;

/** Callers that ask one question after the other until they are stopped. */
function paidCalls(system: System, tenant: Tenant) {
  const answered = new Map<string, bigint>();
  const refused: string[] = [];
  let isOver = false;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) {
      const { status, headers, text } = await chat(system, tenant.key, "one two three");
      if (status === 200) answered.set(String(headers.get("x-gw-call-id")), BigInt(headers.get("x-gw-cost-nano") ?? 0));
      else refused.push(text);
    }
  });
  const moreAnswered = async (more: number) => {
    const wanted = answered.size + more;
    while (answered.size < wanted) await sleep(20);
  };
  const stop = async () => {
    isOver = true;
    await Promise.all(callers);
  };
  return { answered, moreAnswered, stop, refused };
}

test("a platform is promoted while it serves paid calls, killed on the way, and no answered call is lost or billed twice", async () => {
  if (!set) return expect(await requireMongod()).toBeUndefined();
  const system = await startSystem();
  const run = { uri: set.uri, from: system.folder, database: "online" };
  const tenant = await newTenant(system, { creditNano: ONE_USD });
  const calls = paidCalls(system, tenant);
  try {
    // So many that the first round is not followed by the last.
    await calls.moreAnswered(1_200);
    await killedRun({ ...run, at: (line) => line.includes("ledger") });
    await killedRun({ ...run, at: (line) => line.includes("round 1") });
    await calls.moreAnswered(100);
    // The platform goes on until the folder is marked.
    expect(calls.refused).toEqual([]);
    await killedRun({ ...run, at: (line) => line.includes("is marked") });
    const done = await gwWith(["admin", "promote", "--from", run.from, "--to", run.uri, "--database", run.database, "--json"]);
    expect([done.exit, done.err]).toEqual([0, expect.stringContaining("SECRET_KEY")]);
    const { source, target } = JSON.parse(done.out);
    expect(target).toEqual(source);
    expect(await system.controlPlane.exited).toEqual({ code: 0, signal: null });
    await expect(system.restartControlPlane({})).rejects.toThrow("was handed over to the MongoDB database online");

    const secret = readFileSync(join(system.folder, "secret.key"), "utf8").trim();
    await system.restartControlPlane({ MONGODB_URI: run.uri, MONGODB_DATABASE: run.database, SECRET_KEY: secret });
    await calls.moreAnswered(50);
    await calls.stop();
    const cost = Number([...calls.answered.values()].reduce((sum, one) => sum + one, 0n));
    while ((await balanceOf(system, tenant.token)) > ONE_USD - cost) await sleep(50);
    expect(await balanceOf(system, tenant.token)).toBe(ONE_USD - cost);
    await expectLedgerVerifies(system);
    const opened = await openMongoStore({ uri: run.uri, database: run.database });
    const rows = await opened.getMany("usage", [...calls.answered.keys()]);
    expect(rows.filter((row) => row === undefined)).toEqual([]);
    await opened.close();
  } finally {
    await calls.stop();
    await system.stop();
  }
}, 300_000);
