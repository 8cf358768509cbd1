import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../../common/clock.ts";
import { purchase, reportedCall, settle } from "../proof/ledger-fixture.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";
import { Backups } from "./backups.ts";
import { type Restored, restore } from "./restore.ts";

const SHA256 = "ab".repeat(32);
let root: string;
let store: Store;
let backups: Backups;
const inRoot = (...path: string[]) => join(root, ...path);

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "tributary-backup-"));
  store = openEmbeddedStore(inRoot("data", "control-plane"));
  writeFileSync(inRoot("data", "secret.key"), "the secret\n");
  mkdirSync(inRoot("data", "coordinator-blobs", ".owners", "org_1"), { recursive: true });
  for (const name of [SHA256, ".partial-1", join(".owners", "org_1", `${SHA256}.4.made`)]) {
    writeFileSync(inRoot("data", "coordinator-blobs", name), "blob");
  }
  backups = new Backups({
    store,
    clock: systemClock,
    config: { dataDir: inRoot("data"), secretKey: undefined },
    secrets: { fingerprint: "f" },
  });
  await purchase(store, { organizationId: "org_1", amount: 1_000_000n, reference: "pur_1" });
});
afterEach(async () => {
  await store.close();
  rmSync(root, { recursive: true, force: true });
});

async function backUp(name: string): Promise<string> {
  await writeFile(inRoot(name), await collect(backups.archive()));
  return inRoot(name);
}

const restored = (from: string, folder: string): Promise<Restored> =>
  restore({ from, folder, openStore: openEmbeddedStore, signal: AbortSignal.timeout(60_000) });

/** Settles calls until `stop`. */
function underLoad(): { stop(): Promise<number> } {
  let isOn = true;
  let calls = 0;
  const writer = (async () => {
    while (isOn) {
      await settle(store, [reportedCall(`call_${calls++}`, 1n), reportedCall(`call_${calls++}`, 1n)]);
      await nextTurn();
    }
  })();
  return {
    async stop() {
      isOn = false;
      await writer;
      return calls;
    },
  };
}

test("each backup that is made under load restores to a ledger that is valid and a prefix of the running one", async () => {
  const load = underLoad();
  const files: string[] = [];
  for (let count = 0; count < 3; count++) files.push(await backUp(`backup-${count}`));
  await load.stop();
  const seqs: bigint[] = [];
  for (const [place, file] of files.entries()) {
    const { ledger, manifest } = await restored(file, inRoot(`restored-${place}`));
    expect([ledger.ok, ledger.sum]).toEqual([true, 0n]);
    const last = await store.get("ledger", Number(ledger.lastSeq));
    expect(manifest.heads).toEqual([{ id: "0", seq: Number(ledger.lastSeq), hash: last?.hash }]);
    seqs.push(ledger.lastSeq);
  }
  expect([...seqs].sort((left, right) => Number(left - right))).toEqual(seqs);
  expect(readdirSync(inRoot("data"))).toEqual(["control-plane", "coordinator-blobs", "secret.key"]);
});

test("a backup has the store, its blobs, parameters and the generated secret, in an archive that tar reads", async () => {
  await store.blobs.put(
    "a file",
    (async function* () {
      yield Buffer.from("its content");
    })(),
  );
  const file = await backUp("backup");
  const listed = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
  expect([listed[0], listed.at(-1)]).toEqual(["secret.key", "manifest.json"]);
  const { hasSecretFile } = await restored(file, inRoot("new", "data"));
  expect([hasSecretFile, readFileSync(inRoot("new", "data", "secret.key"), "utf8")]).toEqual([true, "the secret\n"]);
  const blobs = readdirSync(inRoot("new", "data", "coordinator-blobs"), { recursive: true });
  expect(blobs.sort()).toEqual([".owners", ".owners/org_1", `.owners/org_1/${SHA256}.4.made`, SHA256]);
  const opened = openEmbeddedStore(inRoot("new", "data", "control-plane"));
  const read = await opened.blobs.get("a file");
  expect(Buffer.concat(read ? await collect(read) : []).toString()).toBe("its content");
  await opened.close();
});

/** In a run of zeros, another distance to copy from gives the same bytes: such a change is no damage. */
function isSameInside(bytes: Buffer, whole: Buffer): boolean {
  try {
    return gunzipSync(bytes).equals(gunzipSync(whole));
  } catch {
    return false;
  }
}

test("a damaged or truncated backup is refused and leaves nothing", async () => {
  await settle(
    store,
    Array.from({ length: 500 }, (_, place) => reportedCall(`call_${place}`, 1n)),
  );
  const whole = readFileSync(await backUp("backup"));
  const flipped = (place: number) => Buffer.from(whole.map((byte, index) => (index === place ? byte ^ 0x10 : byte)));
  const damaged = [
    ...[0.1, 0.3, 0.5, 0.7, 0.9].map((part) => flipped(Math.floor(whole.length * part))),
    flipped(whole.length - 6),
    ...[0, 100, Math.floor(whole.length / 2), whole.length - 1].map((bytes) => whole.subarray(0, bytes)),
    Buffer.from("not an archive"),
  ];
  const harmful = damaged.filter((bytes) => !isSameInside(bytes, whole));
  expect(harmful.length).toBeGreaterThanOrEqual(8);
  for (const bytes of harmful) {
    writeFileSync(inRoot("damaged"), bytes);
    await expect(restored(inRoot("damaged"), inRoot("target"))).rejects.toThrow(ToolProblem);
    expect(readdirSync(root).sort()).toEqual(["backup", "damaged", "data"]);
  }
});

test("a backup whose ledger is wrong is refused", async () => {
  await settle(store, [reportedCall("call_1", 5n)]);
  await store.transaction("every", async (tx) => {
    const account = await tx.get("accounts", "org:org_1");
    if (account) await tx.put("accounts", { ...account, balance: account.balance + 1n });
  });
  await expect(restored(await backUp("backup"), inRoot("target"))).rejects.toThrow("The ledger of the backup is not valid");
  expect(readdirSync(root).sort()).toEqual(["backup", "data"]);
});

test("a restore refuses a folder that is not empty and changes nothing there", async () => {
  const file = await backUp("backup");
  mkdirSync(inRoot("taken"));
  writeFileSync(inRoot("taken", "mine"), "mine");
  await expect(restored(file, inRoot("taken"))).rejects.toThrow("is not empty");
  expect(readdirSync(inRoot("taken"))).toEqual(["mine"]);
  mkdirSync(inRoot("empty"));
  expect((await restored(file, inRoot("empty"))).ledger.ok).toBe(true);
});

test("one backup at a time, and a reader that leaves ends its backup", async () => {
  const first = backups.archive();
  await first.next();
  await expect(collect(backups.archive())).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await first.return(undefined);
  expect(readdirSync(inRoot("data"))).not.toContain("backup-in-progress");
  expect((await restored(await backUp("backup"), inRoot("target"))).ledger.ok).toBe(true);
});
