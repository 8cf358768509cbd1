/**
 * `make bench-backups`: BACKUPS backups (8) of a running platform with `gw admin backup` under RATE calls a second (120), each restored with `gw admin restore`,
 * which verifies its ledger. The platform's last backup, made when the load has ended, must contain every earlier head: the entry of the same
 * number with the same hash. Prints a table, and fails unless every backup restores, every head is equal and no call fails.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { systemClock as clock } from "../common/clock.ts";
import { STORE_FOLDER } from "../control-plane/backup/manifest.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { chat, newTenant } from "../test/helpers/api.ts";
import { MASTER_KEY, startSystem } from "../test/helpers/system.ts";

const BACKUPS = Number(process.env["BACKUPS"] ?? 8);
const RATE = Number(process.env["RATE"] ?? 120);
const GW = resolve(import.meta.dirname, "../bin/gw");
const run = promisify(execFile);

interface Made {
  readonly file: string;
  readonly bytes: number;
  readonly seconds: number;
}

interface Restored {
  readonly ok: boolean;
  readonly sum: number;
  readonly entries: number;
  readonly heads: readonly { id: string; seq: number; hash: string }[];
}

const folder = mkdtempSync(join(tmpdir(), "tributary-backups-"));
const system = await startSystem();
try {
  const { key } = await newTenant(system, { creditNano: 1_000_000_000_000 });
  const { made, load } = await underLoad(key);
  made.push(await backUp("after"));
  const isWhole = await restoreAll(made);
  console.log(`load: ${load.calls} calls, ${(load.calls / load.seconds).toFixed(0)} a second of ${RATE} asked for, ${load.failed} failed`);
  process.exitCode = isWhole && load.failed === 0 ? 0 : 1;
} finally {
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Makes the backups one after the other while calls begin at the rate. */
async function underLoad(key: string): Promise<{ made: Made[]; load: { calls: number; failed: number; seconds: number } }> {
  const begunMs = clock.monotonicMs();
  const made: Made[] = [];
  let isOver = false;
  const backups = (async () => {
    for (let number = 1; number <= BACKUPS; number++) made.push(await backUp(String(number)));
  })().finally(() => {
    isOver = true;
  });
  const calls: Promise<boolean>[] = [];
  while (!isOver) {
    const due = Math.floor(((clock.monotonicMs() - begunMs) * RATE) / 1000);
    while (calls.length < due) calls.push(isAnswered(key, calls.length));
    await clock.sleep(1);
  }
  const seconds = (clock.monotonicMs() - begunMs) / 1000;
  await backups;
  const answered = await Promise.all(calls);
  return { made, load: { calls: calls.length, failed: answered.filter((isOk) => !isOk).length, seconds } };
}

function isAnswered(key: string, place: number): Promise<boolean> {
  return chat(system, key, `call ${place}`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function backUp(name: string): Promise<Made> {
  const begunMs = clock.monotonicMs();
  const file = join(folder, `${name}.tar.gz`);
  const { bytes } = await gw<{ bytes: number }>(["backup", "--out", file]);
  return { file, bytes, seconds: (clock.monotonicMs() - begunMs) / 1000 };
}

/** Restores every backup and prints a line for each. The last one is the whole ledger, in which the heads of the others are looked up. */
async function restoreAll(made: readonly Made[]): Promise<boolean> {
  const restored: { made: Made; found: Restored }[] = [];
  for (const one of made)
    restored.push({ made: one, found: await gw<Restored>(["restore", "--from", one.file, "--data-dir", `${one.file}.data`]) });
  const whole = openEmbeddedStore(join(`${made.at(-1)?.file}.data`, STORE_FOLDER));
  let isWhole = true;
  console.log("backup          MB  seconds  entries  ledger  heads");
  for (const { made: one, found } of restored) {
    const entries = await Promise.all(found.heads.map(({ seq }) => whole.get("ledger", seq)));
    const isEqual = found.heads.length > 0 && found.heads.every(({ hash }, place) => entries[place]?.hash === hash);
    const isOk = found.ok && found.sum === 0;
    isWhole &&= isOk && isEqual;
    const figures = [(one.bytes / 1e6).toFixed(2).padStart(7), one.seconds.toFixed(1).padStart(8), String(found.entries).padStart(8)];
    console.log(`${nameOf(one).padEnd(10)} ${figures.join(" ")}  ${isOk ? "ok    " : "NOT OK"}  ${isEqual ? "equal" : "NOT EQUAL"}`);
  }
  await whole.close();
  return isWhole;
}

function nameOf({ file }: Made): string {
  return file.slice(folder.length + 1, -".tar.gz".length);
}

async function gw<Answer>(words: readonly string[]): Promise<Answer> {
  const env = { ...process.env, GW_API_URL: system.url, GW_API_KEY: MASTER_KEY, GW_PROFILE: "none", XDG_CONFIG_HOME: folder };
  const { stdout } = await run(GW, ["admin", ...words, "--json"], { env, maxBuffer: 1e7 });
  return JSON.parse(stdout) as Answer;
}
