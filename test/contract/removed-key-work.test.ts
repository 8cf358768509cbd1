import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { startBatch, waitForBatch, writeSlowModel } from "../helpers/batches.ts";
import { type SlowUpstream, startSlowUpstream } from "../helpers/slow-upstream.ts";
import { type System, startSystem } from "../helpers/system.ts";

const LINES = 120;
const LINE_MS = 200;
const WITHIN_MS = 1000;

let folder: string;
let upstream: SlowUpstream;
let system: System;
let tenant: Tenant;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-removed-key-"));
  upstream = await startSlowUpstream(LINE_MS);
  system = await startSystem({ edges: 2, env: { CONFIG: writeSlowModel(folder, upstream.url), BATCH_CONCURRENCY: "4" } });
  tenant = await newTenant(system, { creditNano: 10_000_000_000 });
});
afterAll(async () => {
  await system?.stop();
  await upstream?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the lines of a batch whose key is removed are no longer asked within a second, and fail", async () => {
  const { url } = system;
  const { body } = await call(url, "POST", "/api/gw/api-keys", { token: tenant.token, body: { name: "k", team_id: tenant.teamId } });
  const { id } = await startBatch({ url, key: body.key }, LINES);
  while (upstream.asked.length < 8) await sleep(10);
  await call(url, "POST", "/api/api-keys/remove", { token: tenant.token, body: { apiKey: body.apiKey.id } });
  const removedMs = performance.now();
  let [askedBefore, lastMs] = [upstream.asked.length, removedMs];
  const isOver = ({ status }: { status: string }) => {
    if (upstream.asked.length > askedBefore) [askedBefore, lastMs] = [upstream.asked.length, performance.now()];
    return status === "completed" || status === "failed";
  };
  const batch = await waitForBatch({ url, key: tenant.key }, id, { condition: isOver, timeoutMs: 30_000 });
  expect(lastMs - removedMs).toBeLessThan(WITHIN_MS);
  expect(upstream.asked.length).toBeLessThan(LINES / 2);
  expect(batch.request_counts).toMatchObject({ total: LINES, completed: upstream.asked.length, failed: LINES - upstream.asked.length });
});
