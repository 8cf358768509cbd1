/**
 * `make bench-promote`: an embedded store with ROWS settled calls (1,000,000) is promoted to a MongoDB replica set of one node by `gw admin promote`,
 * which is killed KILLS times (5) at points spread over the copy and run again each time. Prints seconds, CPU and memory, and fails unless both
 * ledgers verify and have equal sums, heads, accounts, numbers of usage rows and other records.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { STORE_FOLDER } from "../control-plane/backup/manifest.ts";
import { DAY, purchase, QUARTER, reportedCall, settle } from "../control-plane/proof/ledger-fixture.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { openMongoStore } from "../control-plane/stores/mongo/store.ts";
import type { Store } from "../control-plane/stores/store.ts";
import { requireMongod, startReplicaSet } from "../test/helpers/mongod.ts";
import { callIdAt } from "./bench/call-ids.ts";
import { differences, recordsOf } from "./bench/equal-stores.ts";
import { type PromotionRun, runPromotion } from "./bench/promotion-runs.ts";

const ROWS = Number(process.env["ROWS"] ?? 1_000_000);
const KILLS = Number(process.env["KILLS"] ?? 5);
const DATABASE = "promoted";
const BATCH = 1_000;
const ORGANIZATIONS = 50;
const DAYS = 30;

const folder = mkdtempSync(join(tmpdir(), "tributary-bench-promote-"));
try {
  process.exitCode = (await benchPromotion()) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function benchPromotion(): Promise<boolean> {
  if (!(await requireMongod())) return false;
  const data = join(folder, "data");
  const records = await timed(`${ROWS} settled calls made`, () => fill(join(data, STORE_FOLDER)));
  const set = await startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
  try {
    const target = await openMongoStore({ uri: set.uri, database: DATABASE, readMs: 60_000, socketMs: 60_000 });
    try {
      const proof = await promoteKilled({ data, uri: set.uri, target, records });
      const source = openEmbeddedStore(join(data, STORE_FOLDER));
      const found = await timed("both stores compared beside the verification", () => differences(source, target)).finally(() =>
        source.close(),
      );
      return report(proof, found);
    } finally {
      await target.close();
    }
  } finally {
    await set.stop();
  }
}

/** A purchase and its calls for one organization after the other, over a month. Returns the number of all records. */
async function fill(storeFolder: string): Promise<number> {
  const store = openEmbeddedStore(storeFolder);
  try {
    await store.transaction("settings", async (tx) => {
      await tx.put("settings", { id: "schema", value: "3" });
      await tx.put("settings", { id: "secret-key-fingerprint", value: "bench" });
    });
    for (let start = 0; start < ROWS; start += BATCH) await fillBatch(store, start);
    return await recordsOf(store);
  } finally {
    await store.close();
  }
}

async function fillBatch(store: Store, start: number): Promise<void> {
  const organizationId = `org_${(start / BATCH) % ORGANIZATIONS}`;
  const createdAt = DAY + Math.floor((start / ROWS) * DAYS * 96) * QUARTER;
  await purchase(store, { organizationId, amount: BigInt(BATCH) * 1_000n, reference: `pur_${start}` });
  const calls = Array.from({ length: Math.min(BATCH, ROWS - start) }, (_, place) =>
    reportedCall(callIdAt(createdAt + place, start + place), BigInt(1 + (place % 900)), {
      organizationId,
      createdAt: createdAt + place,
      completedAt: createdAt + place + 500,
      teamId: `team_${organizationId}_${place % 10}`,
      apiKeyId: `key_${organizationId}_${place % 40}`,
      model: place % 3 === 0 ? "echo" : "echo-large",
    }),
  );
  await settle(store, calls);
}

interface Promotion {
  readonly data: string;
  readonly uri: string;
  readonly target: Store;
  readonly records: number;
}

/** Runs the command until it has been killed `KILLS` times, and then to its end. Returns what it printed. */
async function promoteKilled({ data, uri, target, records }: Promotion): Promise<PromotionRun["answer"]> {
  for (let kill = 1; ; kill++) {
    const killAt = kill <= KILLS ? Math.round((records * kill) / (KILLS + 1)) : undefined;
    const run = await runPromotion({ from: data, uri, database: DATABASE, target, killAt });
    const end = killAt === undefined ? "ended" : `killed at ${run.copied} of ${records} records`;
    const cost = `CPU ${run.cpuSeconds.toFixed(1)} s, memory at most ${run.peakMb.toFixed(0)} MB`;
    console.log(`run ${kill}: ${end} after ${run.seconds.toFixed(1)} s (first progress after ${run.startSeconds.toFixed(1)} s), ${cost}`);
    if (killAt === undefined) return run.answer;
  }
}

/** Returns whether both ledgers are valid and nothing differs. */
function report(proof: PromotionRun["answer"], found: readonly string[]): boolean {
  const { source, target } = proof ?? {};
  const isProved = source?.ok === true && isDeepStrictEqual(source, target) && Number(source.usageRows) === ROWS;
  console.log(`verify of the folder:   ${JSON.stringify(source)}`);
  console.log(`verify of the database: ${JSON.stringify(target)}`);
  for (const line of found) console.log(`DIFFERENT: ${line}`);
  const isEqual = isProved && found.length === 0;
  console.log(isEqual ? `equal after ${KILLS} kills: sums, heads, accounts, usage rows and other records` : "NOT EQUAL");
  return isEqual;
}

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const beganMs = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
  return result;
}
