import { hash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { adminToken, call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startPythonParticipant, startTrainer } from "../../helpers/federations.ts";
import { type System, startSystem } from "../../helpers/system.ts";
import { HALF } from "./half-strategy.ts";

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

const LOOK_MS = 50;
const pause = () => new Promise((resolve) => setTimeout(resolve, LOOK_MS));

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
  const rest = async (headers: Record<string, string>, query = "") => {
    const response = await fetch(`${system.url}/training/federations/${id}/events${query}`, {
      headers: { authorization: `Bearer ${tenant.token}`, ...headers },
    });
    return [...(await response.text()).matchAll(/^id: (.*)$/gm)].map(([, at]) => Number(at));
  };
  expect((await rest({ "last-event-id": "8" }))[0]).toBe(9);
  expect((await rest({ "last-event-id": "8" }, "?after=2"))[0]).toBe(3);
  expect((await rest({ "last-event-id": "elsewhere" }))[0]).toBe(1);

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

test("time travel: the stored updates under another strategy, evaluated on the held-out data, and nothing of the record changed", async () => {
  const third = await startTrainer();
  nodes.push(third);
  const poisoned = { name: "digits", classes: [3], partition: { scheme: "iid", index: 0, of: 3 } };
  const id = await create({
    strategy: "mean",
    participants: [
      { url: nodes[0]?.url },
      { url: nodes[1]?.url },
      // Knows one digit only, and is sure of it.
      { url: third.url, dataset: poisoned },
    ],
  });
  await federationWhen(system, { token: tenant.token, id });
  const before = (await ask("GET", `/${id}/rounds`)).body;
  const median = await ask("POST", `/${id}/replays`, { strategy: "median" });
  expect(median.status).toBe(200);
  expect(median.body.rounds.map(({ original }: { original: { accuracy: number } }) => original.accuracy)).toEqual(
    before.data.map(({ accuracy }: { accuracy: number }) => accuracy),
  );
  for (const { replayed, parameters } of median.body.rounds) {
    expect(replayed.accuracy).toBeGreaterThan(0.5);
    expect(before.data.map((round: { parameters: string }) => round.parameters)).not.toContain(parameters);
  }
  // Under its own strategy the past comes out as it was, byte for byte.
  const same = await ask("POST", `/${id}/replays`, { strategy: { name: "mean" }, rounds: 2 });
  expect(same.body.rounds.map(({ parameters }: { parameters: string }) => parameters)).toEqual(
    before.data.slice(0, 2).map((round: { parameters: string }) => round.parameters),
  );
  expect((await ask("GET", `/${id}/rounds`)).body).toEqual(before);
  expect((await ask("POST", `/${id}/replays`, { strategy: "magic" })).status).toBe(400);
  const refused = await ask("POST", `/${id}/replays`, { strategy: { name: "krum", f: 2 } });
  expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 400, code: "VALIDATION_ERROR" });
  expect((await ask("POST", `/${id}/replays`, { strategy: "median" }, other.token)).status).toBe(404);
});

test("a federation is its team's: a key opens it, and another tenant does not know of it", async () => {
  const created = await call(system.url, "POST", "/training/federations", {
    key: tenant.key,
    body: { task, rounds: 1, participants: nodes.map(({ url }) => ({ url })) },
  });
  expect(created.status).toBe(201);
  const { id, teamId } = created.body.federation;
  expect(teamId).toBe(tenant.teamId);
  expect((await call(system.url, "GET", `/training/federations/${id}`, { key: tenant.key })).status).toBe(200);
  for (const path of [`/${id}`, `/${id}/rounds`, `/${id}/events`, `/${id}/verify`]) {
    expect((await ask("GET", path, undefined, other.token)).status).toBe(404);
  }
  expect((await ask("POST", `/${id}/stop`, undefined, other.token)).status).toBe(404);
  expect((await call(system.url, "GET", `/training/federations/${id}`, {})).status).toBe(401);
  expect((await ask("GET", "", undefined, other.token)).body.data).toEqual([]);
  await federationWhen(system, { token: tenant.token, id });
});

test("what is wrong with a request is said by its field", async () => {
  const wrong = await ask("POST", "", {
    task: "softmax",
    participants: [{ join: true, url: "http://x" }, {}],
    rounds: 0,
    strategy: { name: "No name of a strategy" },
  });
  expect(wrong.status).toBe(400);
  const paths = wrong.body.details.map(({ path }: { path: string }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(["body.rounds", "body.strategy.name", "body.participants.0.url", "body.participants.1.url"]),
  );
  const unread = await ask("POST", "", {
    task,
    participants: [{ url: nodes[0]?.url, organisation: "x" }],
    start_deadline_ms: 5000,
    aggregator: "median",
    strategy: { name: "trimmed_mean", share: 0.3 },
    dp: { mode: "central", clip_norm: 1, clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 },
  });
  expect(unread.body.details.map(({ path }: { path: string }) => path).sort()).toEqual(
    ["body.aggregator", "body.dp.clip_norm", "body.participants.0.organisation", "body.strategy.share"].sort(),
  );
  const tooMany = { task, participants: [{ url: nodes[0]?.url }, { url: nodes[1]?.url }], fraction: 0.5, minResults: 2 };
  expect((await ask("POST", "", tooMany)).body).toMatchObject({
    details: [{ path: "body.minResults", message: expect.stringContaining("at most 1,") }],
  });
  const metadata = await ask("POST", "", { task, participants: [{ url: "http://169.254.169.254/" }] });
  expect(metadata.body).toMatchObject({ code: "VALIDATION_ERROR", details: [{ path: "body.participants.0.url" }] });
  const unknown = await ask("POST", "", { task, participants: [{ url: nodes[0]?.url, organizationId: "org_none" }] });
  expect(unknown.body).toMatchObject({ code: "VALIDATION_ERROR", details: [{ path: "body.participants.0.organizationId" }] });
});

test("one that lacks participants says what it waits for and until when, and fails by name", async () => {
  const id = await create({
    participants: [{ url: nodes[0]?.url }, { url: "http://127.0.0.1:9" }],
    minResults: 2,
    startDeadlineMs: 4000,
    rounds: 1,
  });
  const waiting = await federationWhen(system, { token: tenant.token, id, isDone: ({ state }) => state === "waiting" });
  expect(waiting).toMatchObject({
    waitingFor: expect.stringContaining("participants: has 1 of 2 ("),
    waitingUntil: expect.stringMatching(/^20/),
  });
  const failed = await federationWhen(system, { token: tenant.token, id });
  expect(failed).toMatchObject({ state: "failed", failure: { code: "NOT_ENOUGH_PARTICIPANTS" } });
  expect(failed.failure.message).toContain("p2: it cannot be reached: ECONNREFUSED");
});

test("a round that fails gives its budget back; a participant's failure is data of the round", async () => {
  const balance = async () => (await call(system.url, "GET", "/api/balance", { token: tenant.token })).body.balance;
  const before = await balance();
  const broken = { name: "no such set" };
  const id = await create({
    participants: [{ url: nodes[0]?.url }, { url: nodes[1]?.url, dataset: broken }],
    minResults: 2,
    budgetNanoUsd: 777,
    rounds: 1,
  });
  const failed = await federationWhen(system, { token: tenant.token, id });
  expect(failed.failure).toMatchObject({ code: "NOT_ENOUGH_RESULTS", message: expect.stringContaining("1 of 2 results") });
  const { body } = await ask("GET", `/${id}/rounds`);
  expect(body.data[0]).toMatchObject({ state: "abandoned", participants: [{ state: "accepted" }, { state: "failed" }] });
  expect(body.data[0].participants[1].reason).toContain("404");
  expect(await balance()).toBe(before);
});

test("a strategy that cannot bear so few participants is refused before they train, and ends the federation if some are lost", async () => {
  const reason = (count: number) => `krum requires at least 5 clients for this f; there are ${count}`;
  const krum = { strategy: { name: "krum", f: 1 }, task, rounds: 1 };
  const refused = await ask("POST", "", { ...krum, participants: nodes.slice(0, 2).map(({ url }) => ({ url })) });
  expect(refused).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR" } });
  expect(refused.body.details).toEqual([{ path: "body.strategy.f", message: reason(2) }]);
  const broken = { name: "no such set" };
  const participants = [{}, {}, {}, {}, { dataset: broken }].map((one) => ({ url: nodes[1]?.url, ...one }));
  const failed = await federationWhen(system, { token: tenant.token, id: await create({ ...krum, participants }) });
  expect(failed.failure).toMatchObject({ code: "AGGREGATION_FAILED", message: expect.stringContaining(reason(4)) });
});

test("FedNova gets the number of steps of every participant, and its rounds can be recomputed", async () => {
  const id = await create({ strategy: "fednova", rounds: 2 });
  await federationWhen(system, { token: tenant.token, id });
  const { body } = await ask("GET", `/${id}/rounds`);
  // A third of 1,437 rows each, in batches of 16, twice.
  expect(body.data[1].record.strategy).toEqual({ name: "fednova", steps: [60, 60, 60] });
  expect((await ask("GET", `/${id}/verify`)).body).toMatchObject({ ok: true, remade: 2 });
});

test("paused it does nothing, resumed it goes on with the updates it had, stopped it is over", async () => {
  const id = await create({ rounds: 500 });
  await federationWhen(system, { token: tenant.token, id, isDone: ({ head }) => head?.round >= 2 });
  const paused = await ask("POST", `/${id}/pause`);
  expect(paused.body.federation.state).toBe("paused");
  const { round } = paused.body.federation.head;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await ask("GET", `/${id}`)).body.federation).toMatchObject({ state: "paused", head: { round } });
  expect((await ask("POST", `/${id}/resume`)).status).toBe(200);
  await federationWhen(system, { token: tenant.token, id, isDone: ({ head }) => head.round > round });
  expect((await ask("POST", `/${id}/stop`)).body.federation.state).toBe("stopped");
  const again = await ask("POST", `/${id}/resume`);
  expect({ status: again.status, code: again.body.code }).toEqual({ status: 409, code: "VALIDATION_ERROR" });
  expect((await ask("GET", `/${id}/verify`)).body).toMatchObject({ ok: true, firstBad: null });
});

test.each(["fedasync", "fedbuff"])("%s: rounds wait for updates and not for participants, and can be made again", async (name) => {
  const id = await create({ strategy: { name, ...(name === "fedbuff" ? { buffer: 2 } : {}) }, rounds: 8 });
  const federation = await federationWhen(system, { token: tenant.token, id });
  expect(federation).toMatchObject({ state: "completed", head: { round: 8 } });
  expect(federation.head.accuracy).toBeGreaterThan(0.6);
  expect((await ask("GET", `/${id}/verify`)).body).toEqual({ ok: true, rounds: 8, remade: 8, firstBad: null });
});

test("central noise is counted round by round, and the federation ends before its privacy budget is overspent", async () => {
  const dp = { mode: "central", clipNorm: 5, noiseMultiplier: 1, delta: 1e-5, epsilonBudget: 9 };
  const id = await create({ dp, rounds: 50 });
  const federation = await federationWhen(system, { token: tenant.token, id });
  expect(federation).toMatchObject({ state: "failed", failure: { code: "QUOTA_EXCEEDED" } });
  expect(federation.epsilon).toBeLessThanOrEqual(9);
  const { body } = await ask("GET", `/${id}/rounds`);
  const spent = body.data.map(({ epsilon }: { epsilon: number }) => epsilon);
  expect(spent).toEqual([...spent].sort((left: number, right: number) => left - right));
  expect(body.data[0].record).toMatchObject({ made: "noised", strategy: { name: "norm_clip", clip_norm: 5 } });
  // Round 1 starts from a new model of the task, which verification makes again.
  const start = { by: "coordinator", config: { task: "softmax" }, dataset: { name: "digits" } };
  expect(federation.initialStart).toMatchObject(start);
  expect(body.data[0].record).toMatchObject({ base: federation.initialParameters, start });
  expect((await ask("GET", `/${id}/verify`)).body).toMatchObject({ ok: true, remade: 0, firstBad: null });
});

test("with secureAggregation only the sum is seen: it is the plain mean, pays and can be made again; what needs single updates is a 400", async () => {
  const participants = [nodes[0], nodes[1], nodes[0]].map((node) => ({ url: node?.url }));
  const fine = { participants, rounds: 2, budgetNanoUsd: 10, secureAggregation: true };
  const id = await create(fine);
  const federation = await federationWhen(system, { token: tenant.token, id });
  expect(federation).toMatchObject({ state: "completed", failure: null });
  const { body: rounds } = await ask("GET", `/${id}/rounds`);
  expect(rounds.data[1]).toMatchObject({ record: { made: "unmasked", strategy: { name: "mean" } }, budget: 10 });
  const rewards = rounds.data[1].participants.map(({ reward }: { reward: number }) => reward);
  expect(rewards.reduce((sum: number, reward: number) => sum + reward, 0)).toBe(10);
  expect((await ask("GET", `/${id}/verify`)).body).toEqual({ ok: true, rounds: 2, remade: 2, firstBad: null });
  const plain = await federationWhen(system, { token: tenant.token, id: await create({ ...fine, secureAggregation: undefined }) });
  expect(Math.abs(plain.head.accuracy - federation.head.accuracy)).toBeLessThan(0.005);

  const refused = await ask("POST", "", {
    ...fine,
    task,
    strategy: { name: "median" },
    rewards: { by: "cosine" },
    participants: [participants[0], { join: true }],
  });
  expect(refused.status).toBe(400);
  expect(refused.body.details.map(({ path }: { path: string }) => path).sort()).toEqual(
    ["body.participants", "body.participants.1.join", "body.rewards.by", "body.strategy.name"].sort(),
  );
});

test("a participant that cannot mask its updates is a 400 that names its index; one that is not reachable yet is not", async () => {
  const flock = createServer((request, response) => response.writeHead(request.url === "/call" ? 405 : 404).end("<!doctype html>"));
  flock.listen(0, "127.0.0.1");
  await new Promise((resolve) => flock.once("listening", resolve));
  const foreign = `http://127.0.0.1:${(flock.address() as AddressInfo).port}`;
  const body = (last: string) => ({
    task,
    rounds: 1,
    secureAggregation: true,
    startDeadlineMs: 500,
    participants: [nodes[0]?.url, nodes[1]?.url, last].map((url) => ({ url })),
  });
  const refused = await ask("POST", "", body(foreign));
  expect(refused).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR", details: [{ path: "body.participants.2.url" }] } });
  expect((await ask("POST", "", body(foreign), "not-a-token")).status).toBe(401);
  expect((await ask("POST", "", body("http://127.0.0.1:9"))).status).toBe(201);
  flock.close();
});

test("nodes have a history and a node proxy, which checks the caller's key and does not forward it to the node", async () => {
  const { body } = await call(system.url, "GET", "/training/nodes", { key: tenant.key });
  const node = body.data.find(({ url }: { url: string }) => url === nodes[0]?.url);
  expect(node).toMatchObject({ status: "up", failures: 0 });
  expect(node.updates).toBeGreaterThan(3);
  const health = await call(system.url, "GET", `/training/nodes/${node.id}/health`, { key: tenant.key });
  expect(health.body).toMatchObject({ reachable: true, error: null });
  const trained = await call(system.url, "POST", `/training/nodes/${node.id}/v1/train`, {
    key: tenant.key,
    body: { dataset: "digits", config: { epochs: 1 } },
  });
  expect({ status: trained.status, samples: trained.body?.num_samples }).toEqual({ status: 200, samples: 1437 });
  for (const path of ["", "/health", "/v1/info"]) {
    expect((await call(system.url, "GET", `/training/nodes/${node.id}${path}`, { key: other.key })).status).toBe(404);
  }
});

test("a participant behind a wall joins with its token, asks for its work and is paid like the others", async () => {
  const created = await ask("POST", "", {
    task,
    rounds: 3,
    minResults: 2,
    budgetNanoUsd: 100,
    participants: [{ url: nodes[0]?.url }, { join: true, organizationId: other.organizationId }],
  });
  const { federation, joinTokens } = created.body;
  expect(joinTokens).toHaveLength(1);
  const waiting = await federationWhen(system, { token: tenant.token, id: federation.id, isDone: ({ state }) => state === "waiting" });
  expect(waiting.waitingFor).toContain("participants: has 1 of 2 (");
  const refused = await call(system.url, "GET", "/training/join/tasks", { token: `join_${"x".repeat(43)}` });
  expect(refused.status).toBe(401);
  const joined = await startTrainer({ TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: joinTokens[0] });
  nodes.push(joined);
  const done = await federationWhen(system, { token: tenant.token, id: federation.id, withinMs: 50_000 });
  expect(done).toMatchObject({ state: "completed", head: { round: 3 } });
  const { body } = await ask("GET", `/${federation.id}/rounds`);
  for (const { participants } of body.data) {
    expect(participants).toMatchObject([{ state: "accepted" }, { state: "accepted" }]);
    expect(participants[1].reward).toBeGreaterThan(0);
  }
  expect((await ask("GET", `/${federation.id}/verify`)).body).toMatchObject({ ok: true, remade: 3 });
});

test("whoever has the join link of an open federation takes part, until it is full", async () => {
  const created = await ask("POST", "", {
    ...{ task, rounds: 3, enrollment: "open", minParticipants: 2, maxParticipants: 2, eval: { mode: "none" } },
  });
  const { federation, joinLink } = created.body;
  expect([created.status, federation.participants]).toEqual([201, []]);
  const enter = { TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: joinLink, DATA_DIR: join(system.folder, "joined") };
  const joined = await Promise.all([startTrainer(enter), startTrainer(enter)]);
  const done = await federationWhen(system, { token: tenant.token, id: federation.id, withinMs: 50_000 });
  await Promise.all(joined.map(({ process }) => process.stop()));
  expect(done).toMatchObject({ state: "completed", head: { round: 3 }, participants: [{ id: "p1" }, { id: "p2" }] });
  expect((await call(system.url, "POST", "/training/join", { token: joinLink })).status).toBe(409);
  const { body } = await ask("GET", `/${federation.id}/rounds`);
  for (const { participants } of body.data) {
    expect(participants).toMatchObject([
      { participantId: "p1", state: "accepted" },
      { participantId: "p2", state: "accepted" },
    ]);
  }
  expect((await ask("GET", `/${federation.id}/verify`)).body).toMatchObject({ ok: true, remade: 3 });
});

test("an own strategy runs, is recorded by the hash of its source, and its rounds can be made again after it was deleted", async () => {
  const strategies = (method: string, path = "", body?: object, token = tenant.token) =>
    call(system.url, method, `/training/strategies${path}`, { token, ...(body ? { body } : {}) });
  const added = await strategies("POST", "", { name: "half", language: "typescript", source: HALF });
  expect([added.status, added.body.strategy.sha256]).toEqual([201, hash("sha256", HALF, "hex")]);
  expect((await strategies("GET")).body.data.at(-1)).toMatchObject({ name: "half", own: { language: "typescript" } });
  expect((await strategies("GET", "/half", undefined, other.token)).status).toBe(404);
  const unknown = await ask("POST", "", { task, participants: nodes.map(({ url }) => ({ url })), strategy: "third" });
  expect(unknown).toMatchObject({ status: 400, body: { details: [{ path: "body.strategy.name" }] } });
  const smuggled = await ask("POST", "", {
    task,
    participants: [{ join: true }],
    strategy: { name: "x", own: { language: "python", source: "1" } },
  });
  expect(smuggled).toMatchObject({ status: 400, body: { details: [{ path: "body.strategy.own" }] } });
  const id = await create({ rounds: 2, strategy: { name: "half", lr: 0.5 } });
  expect((await strategies("DELETE", "/half")).status).toBe(200);
  const done = await federationWhen(system, { token: tenant.token, id });
  expect(done).toMatchObject({ state: "completed", failure: null });
  const { body } = await ask("GET", `/${id}/rounds`);
  for (const { record, round } of body.data)
    expect(record.strategy).toEqual({ name: "half", lr: 0.5, language: "typescript", source: hash("sha256", HALF, "hex"), round });
  expect((await ask("GET", `/${id}/verify`)).body).toMatchObject({ ok: true, remade: 2 });
});

test("a Python participant joins by a link, shows its progress, and trains once though the coordinator is killed meanwhile", async () => {
  const created = await ask("POST", "", { task: "own", rounds: 1, enrollment: "open", eval: { mode: "none" } });
  const { federation, joinLink } = created.body;
  const marks = join(system.folder, "python");
  mkdirSync(marks);
  const python = await startPythonParticipant({
    program: [join(import.meta.dirname, "../../helpers/python-joined.py")],
    env: { TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: joinLink, DATA_DIR: marks, MARKS: marks },
  });
  const participants = async () => (await ask("GET", `/${federation.id}/rounds`)).body.data[0]?.participants ?? [];
  while ((await participants())[0]?.progress !== 0.5) await pause();
  expect(await participants()).toMatchObject([{ participantId: "p1", state: "selected" }]);
  await system.killCoordinator();
  writeFileSync(join(marks, "finish"), "");
  const done = await federationWhen(system, { token: tenant.token, id: federation.id, withinMs: 50_000 });
  await python.stop();
  expect(done).toMatchObject({ state: "completed", head: { round: 1 } });
  expect(await participants()).toMatchObject([{ participantId: "p1", state: "accepted", samples: 3 }]);
  expect(readFileSync(join(marks, "trained"), "utf8")).toBe("p1 1\n");
});

test("a committed round is published with its lineage, by a key too, and rolled back to the version before", async () => {
  const id = await create({ rounds: 2 });
  const model = "published-together";
  expect((await ask("POST", `/${id}/publish`, { model, round: 9 })).body).toMatchObject({ details: [{ path: "body.round" }] });
  await federationWhen(system, { token: tenant.token, id });
  expect(await ask("GET", `/${id}/versions`)).toMatchObject({
    status: 404,
    body: { error: expect.stringContaining("was not published") },
  });
  const first = await ask("POST", `/${id}/publish`, { model, round: 1 });
  expect(first.status).toBe(201);
  const second = await call(system.url, "POST", `/training/federations/${id}/publish`, { key: tenant.key, body: { model } });
  expect(second.status).toBe(201);
  const { body: rounds } = await ask("GET", `/${id}/rounds`);
  const [one, two] = rounds.data;
  expect(second.body.version).toMatchObject({
    version: 2,
    blob: two.parameters,
    lineage: { federationId: id, round: 2, recordHash: two.recordHash, participants: nodes.length, curve: [one.accuracy, two.accuracy] },
  });
  expect((await ask("GET", `/${id}/versions?model=${model}`)).body.data.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
  // Its own model needs no name, whatever it is called.
  expect((await ask("GET", `/${id}/versions`)).body).toMatchObject({ model: { name: model }, meta: { total: 2 } });
  const back = await ask("POST", `/${id}/rollback`, {});
  expect(back.body.model.traffic).toEqual([{ version: 1, percent: 100 }]);
  expect((await ask("POST", `/${id}/publish`, { model }, other.token)).status).toBe(404);
});

test("a federation whose name is no model name is published under one made of it; a name that is not valid gets a valid one suggested", async () => {
  const id = await create({ rounds: 1, name: "river digits (v2)" });
  const { modelName } = await federationWhen(system, { token: tenant.token, id });
  expect(modelName).toBe("river-digits-v2");
  const refused = await ask("POST", `/${id}/publish`, { model: "river digits" });
  expect(refused).toMatchObject({
    status: 400,
    body: {
      code: "VALIDATION_ERROR",
      details: [{ path: "body.model", message: expect.stringContaining('"river-digits" would be valid') }],
    },
  });
  const published = await ask("POST", `/${id}/publish`, {});
  expect(published).toMatchObject({ status: 201, body: { model: { name: modelName, pricing: { input: 0, output: 0 } } } });
});

test("what two federations spend of one data set adds up; at its budget a round does not begin, and without noise none does", async () => {
  const datasets = async () => (await call(system.url, "GET", "/training/datasets", { token: other.token })).body.data;
  const budget = (body: object) => call(system.url, "PUT", "/training/datasets", { token: other.token, body });
  expect((await budget({ name: "digits", epsilonBudget: -1 })).body).toMatchObject({ details: [{ path: "body.epsilonBudget" }] });
  expect((await budget({ name: "digits", epsilonBudget: 9 })).body.dataset).toMatchObject({ epsilon: 0, delta: 1e-5, epsilonBudget: 9 });
  const federate = async (more: object) => {
    const body = { task, rounds: 1, participants: nodes.slice(0, 2).map(({ url }) => ({ url })), ...more };
    const { body: created } = await ask("POST", "", body, other.token);
    return federationWhen(system, { token: other.token, id: created.federation.id });
  };
  const dp = { clipNorm: 5, noiseMultiplier: 1, delta: 1e-5 };
  expect(await federate({ dp: { ...dp, mode: "central" } })).toMatchObject({ state: "completed" });
  const [first] = await datasets();
  expect(first).toMatchObject({ name: "digits", rounds: 1 });
  expect(first.epsilon).toBeCloseTo(4.728387, 6);
  expect(await federate({ dp: { ...dp, mode: "local" } })).toMatchObject({ state: "completed" });
  expect((await datasets())[0].epsilon).toBeCloseTo(7.077197, 6);
  const third = await federate({ dp: { ...dp, mode: "local" } });
  expect(third).toMatchObject({ state: "failed", head: null, failure: { code: "QUOTA_EXCEEDED" } });
  expect(third.failure.message).toContain(
    'The privacy budget of the data set "digits" is used up: another round would make its epsilon 9.010',
  );
  expect((await federate({})).failure).toMatchObject({ code: "QUOTA_EXCEEDED", message: expect.stringContaining("adds no noise") });
  // Noise in name only: no epsilon is too large to be compared, and none has to be computed of less.
  const quiet = await federate({ dp: { ...dp, mode: "central", noiseMultiplier: 1e-9 } });
  expect(quiet.failure).toMatchObject({ code: "QUOTA_EXCEEDED", message: expect.stringContaining("is used up") });
  const silent = { task, rounds: 1, participants: [{ url: nodes[0]?.url }], dp: { ...dp, mode: "central", noiseMultiplier: 1e-20 } };
  expect((await ask("POST", "", silent, other.token)).body).toMatchObject({
    code: "VALIDATION_ERROR",
    details: [{ path: "body.dp.noiseMultiplier" }],
  });
  expect((await datasets())[0]).toMatchObject({ rounds: 2 });
  expect((await budget({ name: "digits", epsilonBudget: null })).body.dataset).toMatchObject({ epsilonBudget: null, rounds: 2 });
  expect(await federate({})).toMatchObject({ state: "completed" });
  const mine = await call(system.url, "GET", "/training/datasets", { token: tenant.token });
  expect(mine.body.data.filter(({ updatedAt }: { updatedAt: string }) => updatedAt === first.updatedAt)).toEqual([]);
});
