import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeParameters, encodeParameters } from "../../../trainer-node/codec/parameters.ts";
import { call, joinTeam, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen } from "../../helpers/federations.ts";
import { type System, startSystem } from "../../helpers/system.ts";

/** Participants by their path: what each adds to the parameters, and its samples. */
const PEOPLE = [
  { adds: [1, 0.5], samples: 10 },
  { adds: [2, -3], samples: 30 },
  { adds: [-1, 7], samples: 20 },
  { adds: [4, 0.25], samples: 40 },
];
const TOTAL = PEOPLE.reduce((sum, { samples }) => sum + samples, 0);
/** What one round of all participants together adds. */
const STEP = [0, 1].map((at) => PEOPLE.reduce((sum, { adds, samples }) => sum + ((adds[at] ?? 0) * samples) / TOTAL, 0));

let system: System;
let tenant: Tenant;
let server: Server;
let base: string;
/** Trainings wait for this, so that a test can look into a running round. */
let gate = Promise.resolve();
let trainings = 0;

beforeAll(async () => {
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  tenant = await newTenant(system, { name: "states" });
  server = createServer(async (request, response) => {
    const [, who, version, operation] = (request.url ?? "").split("/");
    const { adds, samples } = PEOPLE[Number(who)] ?? { adds: [], samples: 0 };
    if (request.method === "GET") return void response.end(JSON.stringify({ formats: ["safetensors"], version }));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const from = body.byteLength === 0 ? [0, 0] : valuesOf(body);
    if (operation === "evaluate") {
      response.end(JSON.stringify({ accuracy: 0.5, num_samples: samples, metrics: { first: from[0] } }));
      return;
    }
    trainings++;
    await gate;
    const data = Float32Array.from(from, (value, at) => value + (adds[at] ?? 0));
    const made = encodeParameters([{ name: "w", dtype: "f32", shape: [2], data }], "safetensors");
    const result = JSON.stringify({ num_samples: samples, metrics: { loss: Number(who) } });
    response.writeHead(200, { "content-type": "application/octet-stream", "x-result": result }).end(made);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await system?.stop();
  server?.close();
});

const valuesOf = (bytes: Uint8Array): number[] => Array.from(decodeParameters(bytes).tensors[0]?.data as Float32Array);

const create = (body: object, token = tenant.token) =>
  call(system.url, "POST", "/training/federations", { token, body: { task: "anything", eval: { mode: "none" }, ...body } });

async function created(body: object): Promise<string> {
  const answer = await create(body);
  expect({ status: answer.status, text: answer.status === 201 ? "" : answer.text }).toEqual({ status: 201, text: "" });
  return answer.body.federation.id;
}

/** A federation without rounds of its own, for these participants. */
const inner = (people: readonly number[], more: object = {}) =>
  created({ waits: true, participants: people.map((who) => ({ url: `${base}/${who}` })), ...more });

const get = async (path: string) => (await call(system.url, "GET", `/training/federations/${path}`, { token: tenant.token })).body;

async function modelOf(id: string): Promise<number[]> {
  const answer = await fetch(`${system.url}/training/federations/${id}/parameters`, {
    headers: { authorization: `Bearer ${tenant.token}` },
  });
  return valuesOf(await answer.bytes());
}

const ended = (id: string) => federationWhen(system, { token: tenant.token, id, withinMs: 60_000 });

function expectValues(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [at, value] of expected.entries()) expect(actual[at]).toBeCloseTo(value, 5);
}

test("two federations of two participants make the flat weighted mean, also over a killed coordinator", async () => {
  const [first, second] = [await inner([0, 1], { eval: { mode: "sites" } }), await inner([2, 3], { eval: { mode: "sites" } })];
  expect((await get(first)).federation).toMatchObject({ state: "completed", head: null, outer: null });
  const open = Promise.withResolvers<void>();
  gate = open.promise;
  trainings = 0;
  const outer = await created({ rounds: 3, eval: { mode: "sites" }, participants: [{ federation: first }, { federation: second }] });
  await federationWhen(system, { token: tenant.token, id: outer, isDone: () => trainings >= 4 });
  expect((await create({ rounds: 1, participants: [{ federation: first }] })).status).toBe(400);
  expect(
    (await call(system.url, "POST", `/training/federations/${first}/extend`, { token: tenant.token, body: { rounds: 1 } })).status,
  ).toBe(409);
  await system.killCoordinator();
  open.resolve();

  expect(await ended(outer)).toMatchObject({ state: "completed", head: { round: 3 }, failure: null });
  expectValues(await modelOf(outer), [3 * (STEP[0] ?? 0), 3 * (STEP[1] ?? 0)]);
  const flat = await created({ rounds: 3, participants: PEOPLE.map((_, who) => ({ url: `${base}/${who}` })) });
  expect(await ended(flat)).toMatchObject({ state: "completed" });
  expectValues(await modelOf(outer), await modelOf(flat));

  const { data } = await get(`${outer}/rounds`);
  const participants = data[2].participants as { samples: number; metrics: { train: { loss: number }; evaluate: { first: number } } }[];
  expect(participants.map(({ samples, metrics }) => [samples, metrics.train.loss])).toEqual([
    [40, (0 * 10 + 1 * 30) / 40],
    [60, (2 * 20 + 3 * 40) / 60],
  ]);
  for (const { metrics } of participants) expect(metrics.evaluate.first).toBeCloseTo(3 * (STEP[0] ?? 0), 5);
  // Each has one round for each outer round, whatever was repeated, and its history names where it began.
  for (const id of [first, second]) {
    const { federation } = await get(id);
    expect(federation).toMatchObject({ state: "completed", head: { round: 3 }, outer: { federationId: outer, round: 3 } });
    const rounds = (await get(`${id}/rounds`)).data;
    expect(rounds.map(({ record }: { record: { outer: object } }) => record.outer)).toEqual(
      [1, 2, 3].map((round) => ({ federationId: outer, round })),
    );
    expect(rounds[2].record.base).toBe(data[1].parameters);
  }
  for (const id of [outer, first, second]) expect(await get(`${id}/verify`)).toMatchObject({ ok: true, rounds: 3, firstBad: null });
}, 120_000);

test("several inner rounds are one training, and an inner federation that ended with the outer one goes on by itself", async () => {
  const only = await inner([0, 1], { name: "pair" });
  const outer = await created({ rounds: 2, participants: [{ federation: only, innerRounds: 3 }] });
  expect(await ended(outer)).toMatchObject({ state: "completed", participants: [{ url: null, inner: { federationId: only, rounds: 3 } }] });
  const pair = (1 * 10 + 2 * 30) / 40;
  expect((await modelOf(outer))[0]).toBeCloseTo(6 * pair, 4);
  const extended = await call(system.url, "POST", `/training/federations/${only}/extend`, { token: tenant.token, body: { rounds: 1 } });
  expect(extended).toMatchObject({ status: 200, body: { federation: { outer: null } } });
  expect(await ended(only)).toMatchObject({ state: "completed", head: { round: 7 } });
  expect((await modelOf(only))[0]).toBeCloseTo(7 * pair, 4);
  expect(await get(`${only}/verify`)).toMatchObject({ ok: true, rounds: 7 });
}, 60_000);

test("what an inner federation does not do is refused by name, and its failure is its participant's", async () => {
  const id = await inner([0, 1]);
  const dp = { clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  for (const [more, reason] of [
    [{ dp: { mode: "local", ...dp } }, "cannot clip its updates and add noise to its updates"],
    [{ compression: "int8" }, "cannot compress its updates"],
    [{ strategy: "fednova" }, "cannot take the steps"],
    [{ strategy: "fedasync" }, "asynchronous"],
    [{ strategy: { name: "fedprox", mu: 0.1 } }, "does not get the settings of the strategy fedprox"],
    [{ initial: { participant: 0 } }, "cannot give the initial parameters"],
  ] as const) {
    const { status, body } = await create({ rounds: 1, participants: [{ federation: id }], ...more });
    expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringContaining(reason) });
  }
  const three = await Promise.all([inner([0]), inner([1]), inner([2])]);
  const secure = await create({ rounds: 1, secureAggregation: true, participants: three.map((federation) => ({ federation })) });
  expect(secure).toMatchObject({ status: 400, body: { error: expect.stringContaining("mask") } });

  const [gone, there] = [
    await created({ waits: true, startDeadlineMs: 100, participants: [{ url: "http://127.0.0.1:9" }] }),
    await inner([3]),
  ];
  const outer = await created({ rounds: 1, minResults: 1, participants: [{ federation: gone }, { federation: there }] });
  expect(await ended(outer)).toMatchObject({ state: "completed" });
  const [round] = (await get(`${outer}/rounds`)).data;
  expect(round.participants[0]).toMatchObject({
    state: "failed",
    reason: expect.stringContaining(`${gone} failed: Only 0 of 1 participants`),
  });
}, 60_000);

test("only those who manage a federation may make it a participant", async () => {
  const id = await inner([0]);
  const stranger = await newTenant(system, { name: "strangers" });
  expect((await create({ rounds: 1, participants: [{ federation: id }] }, stranger.token)).status).toBe(404);
  await joinTeam(system, { from: tenant, guest: stranger, teamId: tenant.teamId, role: "member" });
  expect((await create({ rounds: 1, participants: [{ federation: id }] }, stranger.token)).status).toBe(403);
  expect((await get(id)).federation).toMatchObject({ outer: null });
});
