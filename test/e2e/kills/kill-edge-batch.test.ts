import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { outputOf, startBatch, waitForBatch, writeSlowModel } from "../../helpers/batches.ts";
import { type SlowUpstream, startSlowUpstream } from "../../helpers/slow-upstream.ts";
import { type System, startSystem } from "../../helpers/system.ts";
import { expectConsistentLedger, printLine } from "../ledger-checks.ts";

const LINES = 800;
const KILLS = 3;

let folder: string;
let upstream: SlowUpstream;
let system: System;
let tenant: Tenant;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-kill-batch-"));
  upstream = await startSlowUpstream(60);
  const env = { CONFIG: writeSlowModel(folder, upstream.url), WORK_LEASE_MS: "2000" };
  system = await startSystem({ edges: 2, env });
  tenant = await newTenant(system, { creditNano: 10_000_000_000 });
});

afterAll(async () => {
  await system?.stop();
  await upstream?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test(`a batch over ${KILLS} kills of every edge: each line is in the output once and paid once`, async () => {
  const client = { url: system.url, key: tenant.key };
  const { id } = await startBatch(client, LINES);
  let completed = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    // In the middle of work: some lines further than before, and before the end.
    const condition = ({ request_counts: counts }: { request_counts: { completed: number } }) => counts.completed > completed;
    const batch = await waitForBatch(client, id, { condition, timeoutMs: 20_000 });
    expect(batch.status).toBe("in_progress");
    completed = batch.request_counts.completed;
    // Results are written once a second: what came since is lost with the edge, and was settled.
    await sleep(250 * (kill + 1));
    await Promise.all([system.killEdge(0), system.killEdge(1)]);
  }
  const done = await waitForBatch(client, id, { condition: ({ status }) => status === "completed", timeoutMs: 40_000 });
  if (done.error_file_id)
    printLine((await call(client.url, "GET", `/v1/files/${done.error_file_id}/content`, client)).text.split("\n")[0] ?? "");
  expect(done.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
  const answers = await outputOf(client, done.output_file_id ?? "");
  expect(answers.size).toBe(LINES);
  for (let index = 0; index < LINES; index++) expect(answers.get(`id-${index}`)).toBe(`line ${index}`);
  printLine(
    `kill -9 of every edge, ${KILLS} times in a batch of ${LINES} lines: ${upstream.asked.length - LINES} lines were asked for again`,
  );
  // What was not written when an edge died, a second's worth and what was under way, is made again: no more than that.
  expect(upstream.asked.length - LINES).toBeLessThan(KILLS * 250);
  const { entries } = await expectConsistentLedger(system, tenant.token);
  expect(entries.filter(({ type }) => type === "usage")).toHaveLength(LINES);
});
