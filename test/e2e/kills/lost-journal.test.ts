import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { adminToken, call, newTenant } from "../../helpers/api.ts";
import { type System, startSystem } from "../../helpers/system.ts";

const CALLS = 150;
const BETWEEN_MS = 20;
const SETTLED_WITHIN_MS = 30_000;

let system: System;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

/** Sends calls at a steady rate; resolves with the time at which each was answered. */
async function answeredAt(key: string): Promise<number[]> {
  const times: number[] = [];
  const calls: Promise<void>[] = [];
  for (let index = 0; index < CALLS; index++) {
    const body = { model: "echo", messages: [{ role: "user", content: `call ${index}` }] };
    calls.push(
      call(system.url, "POST", "/v1/chat/completions", { token: key, body }).then(({ status }) => {
        if (status === 200) times.push(performance.now());
      }),
    );
    await sleep(BETWEEN_MS);
  }
  await Promise.all(calls);
  return times;
}

test("an edge that is lost with its disk loses less than the last second of its traffic, and the ledger still adds up", async () => {
  const tenant = await newTenant(system, { name: "lost", creditNano: 1_000_000_000 });
  const times = await answeredAt(tenant.key);
  const killedAt = performance.now();
  await system.edges[0]?.kill9();
  rmSync(join(system.folder, "journal"), { recursive: true });
  await system.killEdge(0);

  const rows = async () => {
    const { body } = await call(system.url, "GET", "/api/gw/logs", { token: tenant.token });
    return Number(body.meta.totals.requests);
  };
  const inLastSecond = times.filter((time) => time > killedAt - 1000).length;
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  let billed = await rows();
  while (billed < CALLS - inLastSecond && Date.now() < deadline) {
    await sleep(100);
    billed = await rows();
  }
  const lost = times.length - billed;
  process.stderr.write(
    `lost journal: ${times.length} calls answered at ${1000 / BETWEEN_MS} a second, ${lost} not billed (${(lost * BETWEEN_MS) / 1000} s of traffic)\n`,
  );
  expect(times).toHaveLength(CALLS);
  expect(lost).toBeLessThanOrEqual(inLastSecond);
  const { body } = await call(system.url, "GET", "/api/admin/ledger/verify", { token: await adminToken(system) });
  expect(body).toMatchObject({ ok: true });
});
