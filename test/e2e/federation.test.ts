import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminToken, call, newTenant, type Tenant } from "../helpers/api.ts";
import { federationWhen, startTrainer } from "../helpers/federations.ts";
import { type System, startSystem } from "../helpers/system.ts";

const task = {
  name: "softmax",
  config: { epochs: 2, batch_size: 16, lr: 0.05 },
  dataset: { name: "digits", partition: { scheme: "iid", seed: 3 } },
};

let system: System;
let tenant: Tenant;
let other: Tenant;
const nodes: Awaited<ReturnType<typeof startTrainer>>[] = [];

beforeAll(async () => {
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  nodes.push(await startTrainer(), await startTrainer());
  tenant = await newTenant(system, { name: "federation", creditNano: 10_000_000_000 });
  other = await newTenant(system, { name: "partner" });
});
afterAll(async () => {
  await system?.stop();
  await Promise.all(nodes.map(({ process }) => process.stop()));
});

const ask = (method: string, path: string, body?: unknown, token: string = tenant.token) =>
  call(system.url, method, `/training/federations${path}`, { token, ...(body === undefined ? {} : { body }) });

async function create(more: object = {}): Promise<string> {
  const answer = await ask("POST", "", { task, rounds: 3, participants: nodes.map(({ url }) => ({ url })), ...more });
  expect({ status: answer.status, text: answer.status === 201 ? "" : answer.text }).toEqual({ status: 201, text: "" });
  return answer.body.federation.id;
}

test("two nodes train together: rounds run, pay, stream what happens, and can be made again from their record", async () => {
  const budgetNanoUsd = 1_000_001;
  const id = await create({
    participants: [{ url: nodes[0]?.url }, { url: nodes[1]?.url, organizationId: other.organizationId }],
    budgetNanoUsd,
  });
  const events = await call(system.url, "GET", `/training/federations/${id}/events`, { token: tenant.token });
  expect(events.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const types = [...events.text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
  expect(types.filter((type) => type === "round.committed")).toHaveLength(3);
  expect(types.filter((type) => type === "update.accepted")).toHaveLength(6);
  expect(types.at(-1)).toBe("end");

  const federation = await federationWhen(system, { token: tenant.token, id });
  expect(federation).toMatchObject({ state: "completed", failure: null, head: { round: 3 } });
  expect(federation.head.accuracy).toBeGreaterThan(0.8);

  const { body: rounds } = await ask("GET", `/${id}/rounds`);
  expect(rounds.meta.total).toBe(3);
  for (const [index, round] of rounds.data.entries()) {
    expect(round.record.previous).toBe(index === 0 ? "0".repeat(64) : rounds.data[index - 1].recordHash);
    const rewards = round.participants.map(({ reward }: { reward: number }) => reward);
    expect(rewards.reduce((sum: number, reward: number) => sum + reward, 0)).toBe(budgetNanoUsd);
  }
  const partner = await call(system.url, "GET", "/api/quota", { token: other.token });
  const paid = rounds.data.reduce((sum: number, round: typeof rounds) => sum + round.participants[1].reward, 0);
  expect(paid).toBeGreaterThan(0);
  expect(partner.body.quota).toMatchObject({ balance: paid, totalRewarded: paid });
  const books = await call(system.url, "GET", "/api/admin/ledger/verify", { token: await adminToken(system) });
  expect(books.body).toMatchObject({ ok: true, firstBad: null });

  expect((await ask("GET", `/${id}/verify`)).body).toEqual({ ok: true, rounds: 3, remade: 3, firstBad: null });
  const blob = join(system.folder, "coordinator-blobs", rounds.data[1].participants[0].update);
  const bytes = readFileSync(blob);
  bytes[bytes.length - 3] = (bytes[bytes.length - 3] as number) ^ 1;
  writeFileSync(blob, bytes);
  expect((await ask("GET", `/${id}/verify`)).body).toMatchObject({ ok: false, firstBad: { round: 2 } });
});
