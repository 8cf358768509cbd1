/** `make demo-batch`: a large batch while its edges are killed. Prints counts, repeated lines, and the memory of the edges. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ignore, orElse } from "../common/ignore.ts";
import { call, newTenant } from "../test/helpers/api.ts";
import { outputOf, startBatch, waitForBatch, writeSlowModel } from "../test/helpers/batches.ts";
import { startSlowUpstream } from "../test/helpers/slow-upstream.ts";
import { type System, startSystem } from "../test/helpers/system.ts";

const LINES = Number(process.argv[2] ?? 5000);
const KILLS = 3;
const KILL_EVERY_MS = 6000;
/** Little more than an idle edge needs, so that a batch held in memory would exceed it. */
const HEAP = "--max-old-space-size=160";

const folder = mkdtempSync(join(tmpdir(), "tributary-demo-"));
const upstream = await startSlowUpstream(20);
const system = await startSystem({
  edges: 2,
  env: { CONFIG: writeSlowModel(folder, upstream.url), WORK_LEASE_MS: "3000", NODE_OPTIONS: HEAP },
});
try {
  process.exitCode = (await demonstrate()) ? 0 : 1;
} finally {
  await system.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function demonstrate(): Promise<boolean> {
  const tenant = await newTenant(system, { creditNano: 100_000_000_000 });
  const client = { url: system.url, key: tenant.key };
  const startedMs = performance.now();
  const { id } = await startBatch(client, LINES);
  const ended = new AbortController();
  const watching = watch(client, id, ended.signal);
  for (let kill = 1; kill <= KILLS; kill++) {
    await sleep(KILL_EVERY_MS);
    await Promise.all([system.killEdge(0), system.killEdge(1)]);
    console.log(`kill -9 of both edges, ${kill} of ${KILLS}`);
  }
  const done = await waitForBatch(client, id, {
    condition: ({ status }) => status === "completed" || status === "failed",
    timeoutMs: 600_000,
  });
  ended.abort();
  await watching;
  const answers = await outputOf(client, done.output_file_id ?? "");
  const { body } = await call(system.url, "GET", "/api/credits/ledger?pageSize=1", { token: tenant.token });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`${done.status} in ${seconds} s: ${JSON.stringify(done.request_counts)}, ${answers.size} lines in the output`);
  // One ledger entry is the purchase.
  const paid = Number(body.meta.total) - 1;
  console.log(
    `paid calls in the ledger: ${paid}; asked of the upstream: ${upstream.asked.length} (${upstream.asked.length - LINES} again)`,
  );
  return done.status === "completed" && answers.size === LINES && paid === LINES;
}

async function watch(client: { url: string; key: string }, id: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const answer = await orElse(
      call(client.url, "GET", `/v1/batches/${id}`, { key: client.key }),
      undefined,
      "the edge was killed a moment ago",
    );
    const counts = answer?.status === 200 ? JSON.stringify(answer.body.request_counts) : "an edge is away";
    console.log(`${counts}; edges ${memoryOf(system).join(", ")}`);
    await ignore(sleep(2000, undefined, { signal }), "the demo is over");
  }
}

function memoryOf({ edges }: Pick<System, "edges">): string[] {
  return edges.map(({ pid }) => {
    try {
      const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
      return `${Math.round(kilobytes / 1024)} MB`;
    } catch {
      return "away";
    }
  });
}
