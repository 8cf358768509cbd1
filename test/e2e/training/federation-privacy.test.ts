import { hash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { decodeParameters, encodeParameters } from "../../../trainer-node/codec/parameters.ts";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startFlockParticipant, startPythonParticipant, startTrainer } from "../../helpers/federations.ts";
import { freePort } from "../../helpers/processes.ts";
import { type System, startSystem } from "../../helpers/system.ts";

const task = { name: "softmax", config: { epochs: 1, lr: 0.05 }, dataset: { name: "digits", partition: { scheme: "iid", seed: 3 } } };
const dp = { clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
const FIXTURES = resolve(import.meta.dirname, "../../../trainer-node/functions/__fixtures__");
const pickle = (text: string) => Buffer.concat([Buffer.from([0x80, 4]), Buffer.from(text)]);

let system: System;
let tenant: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;
let python: Awaited<ReturnType<typeof startPythonParticipant>>;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  [node, python] = await Promise.all([startTrainer(), startPythonParticipant()]);
  tenant = await newTenant(system, { name: "privacy", creditNano: 1_000_000_000 });
});
afterAll(async () => {
  await system?.stop();
  await Promise.all([node?.process.stop(), python?.stop(), ...stops.map((stop) => stop())]);
});

const ask = (method: string, path: string, body?: unknown) =>
  call(system.url, method, `/training/federations${path}`, { token: tenant.token, ...(body === undefined ? {} : { body }) });

async function flock(answers: Parameters<typeof startFlockParticipant>[0]) {
  const started = await startFlockParticipant(answers);
  stops.push(started.stop);
  return started;
}

async function ended(body: object): Promise<ReturnType<typeof JSON.parse>> {
  const { status, body: created, text } = await ask("POST", "", { rounds: 2, task, ...body });
  expect({ status, text: status === 201 ? "" : text }).toEqual({ status: 201, text: "" });
  return federationWhen(system, { token: tenant.token, id: created.federation.id });
}

const headValues = ({ head }: { head: { parameters: string } }): number[] =>
  decodeParameters(readFileSync(join(system.folder, "coordinator-blobs", head.parameters))).tensors.flatMap(({ data }) =>
    Array.from(data as Float32Array),
  );
const parameters = (...values: number[]): Uint8Array =>
  encodeParameters([{ name: "weight", dtype: "f32", shape: [values.length], data: Float32Array.from(values) }], "safetensors");
async function uploaded(bytes: Uint8Array): Promise<string> {
  const sha256 = hash("sha256", bytes, "hex");
  const headers = { authorization: `Bearer ${tenant.token}` };
  const response = await fetch(`${system.url}/training/blobs/${sha256}`, { method: "PUT", headers, body: Buffer.from(bytes) });
  expect(response.ok).toBe(true);
  return sha256;
}
const accountOf = async (name: string) => {
  const { body } = await call(system.url, "GET", "/training/datasets", { token: tenant.token });
  return body.data.find((entry: { name: string }) => entry.name === name);
};

describe("a federation that its participants cannot honor is refused when it is created", () => {
  test("dp local over FLock's kind, which declares nothing, names the participant and the reason", async () => {
    const { url, methods } = await flock({ parameters: () => pickle("model") });
    const refused = await ask("POST", "", { task, dp: { ...dp, mode: "local" }, participants: [{ url: node.url }, { url }] });
    expect(refused).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR" } });
    expect(refused.body.details).toEqual([{ path: "body.participants.1.url", message: expect.stringContaining(url) }]);
    expect(refused.body.error).toMatch(
      /body\.participants\.1\.url: .* cannot clip its updates and add noise to its updates, as dp\.mode local needs/,
    );
    expect(methods).toEqual([]);
  });

  test.each([
    ["the strategy median", { strategy: "median" }],
    ["dp.mode central", { dp: { ...dp, mode: "central" } }],
  ])("%s over declared pickles names the participant and its formats", async (need, settings) => {
    const { url, methods } = await flock({ parameters: () => pickle("model"), info: { capabilities: { formats: ["pickle"] } } });
    const refused = await ask("POST", "", { task, ...settings, participants: [{ url: node.url }, { url }] });
    expect(refused).toMatchObject({ status: 400, body: { details: [{ path: "body.participants.1.url" }] } });
    expect(refused.body.error).toContain(`cannot send parameters in a format that the coordinator reads, as ${need} needs`);
    expect(methods).toEqual([]);
  });

  test("central noise without `initial`, if no participant can give untrained parameters, names `initial`", async () => {
    const { url, methods } = await flock({ parameters: () => pickle("model") });
    const central = { task, dp: { ...dp, mode: "central" } };
    const refused = await ask("POST", "", { ...central, participants: [{ url }] });
    expect(refused).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR", details: [{ path: "body.initial" }] } });
    expect(refused.body.error).toContain("no participant can give untrained ones");
    expect(methods).toEqual([]);
    // One that can is enough.
    const { status, body } = await ask("POST", "", { ...central, participants: [{ url }, { url: node.url }] });
    expect(status).toBe(201);
    await ask("POST", `/${body.federation.id}/stop`);
  });

  test("so does FedProx over a function that does not apply its mu, which is 0.1 unless it is set", async () => {
    for (const strategy of ["fedprox", { name: "fedprox", mu: 0.5 }]) {
      const own = await ask("POST", "", { task, strategy, participants: [{ url: node.url }, { url: python.url }] });
      expect(own).toMatchObject({ status: 400, body: { details: [{ path: "body.participants.1.url" }] } });
      expect(own.body.error).toContain("cannot add the proximal term that mu weighs to its training, as the strategy fedprox needs");
    }
    const { status, body } = await ask("POST", "", { task, strategy: "fedprox", participants: [{ url: node.url }] });
    expect([status, body.federation.settings.strategy]).toEqual([201, { name: "fedprox", mu: 0.1 }]);
    await ask("POST", `/${body.federation.id}/stop`);
  });

  test("so does FedNova over the Python SDK, whose functions' steps are not known", async () => {
    const nova = await ask("POST", "", { task, strategy: "fednova", participants: [{ url: python.url }] });
    expect(nova.body.error).toContain("the strategy fednova needs");
  });
});

describe("exact figures of rows that somebody trains on do not come out beside dp and secureAggregation", () => {
  const config = { columns: [0], bounds: [[0.5, 1.5]], bins: 4, rows_max: 1000 };
  const rows = Array.from({ length: 21 }, (_, index) => ({ a: index < 7 ? 1 : 2, y: index % 2 }));
  const central = { dp: { ...dp, clipNorm: 2, noiseMultiplier: 50, mode: "central" } };
  const three = (more: object) => ({ participants: [1, 2, 3].map(() => ({ url: node.url, ...more })) });
  const masked = { secureAggregation: { range: 1000 } };

  test.each<[string, { shared?: boolean; eval: object; dp?: object; secureAggregation?: object }, string]>([
    ["their own rows, with central noise", { ...central, eval: { mode: "sites" } }, "eval.mode"],
    ["their own rows, masked", { ...masked, eval: { mode: "sites" } }, "eval.mode"],
    ["the task's rows, with local noise", { dp: { ...dp, mode: "local" }, eval: { patience: 1 }, shared: true }, "eval"],
    ["those that one trains on", { ...central, eval: { dataset: rows } }, "eval.dataset"],
  ])("an evaluation on %s is a 400 that says what to do instead", async (_rows, { shared, ...privacy }, field) => {
    const settings = shared ? { task: { name: "statistics", config, dataset: rows }, ...three({}) } : three({ dataset: rows });
    const refused = await ask("POST", "", { task: { name: "statistics", config }, ...settings, ...privacy });
    expect(refused).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR", details: [{ path: `body.${field}` }] } });
    expect(refused.body.error).toMatch(/does not cover.*rows outside the training data/);
  });

  test("what nobody asked for is left out with a warning; what is public is evaluated, and nothing else is published", async () => {
    const softmax = { name: "softmax", config: { epochs: 1 }, dataset: rows };
    const { body: created } = await ask("POST", "", { task: softmax, ...masked, ...three({}), rounds: 1 });
    expect(created.warnings).toContainEqual(expect.stringMatching(/^Rounds are not evaluated, because .*eval\.dataset/));
    const done = await federationWhen(system, { token: tenant.token, id: created.federation.id });
    expect(done).toMatchObject({ state: "completed", settings: { eval: { mode: "none" } } });
    const [blind] = (await ask("GET", `/${done.id}/rounds`)).body.data;
    expect(blind).toMatchObject({ accuracy: null, loss: null, metrics: { train: {}, evaluate: {} } });
    for (const { metrics } of blind.participants) expect(metrics).toEqual({ train: {}, evaluate: {} });

    const evaluated = await ended({
      task: { name: "statistics", config },
      ...three({ dataset: rows }),
      ...central,
      rounds: 1,
      eval: { dataset: [{ a: 1, y: 5 }] },
    });
    const [round] = (await ask("GET", `/${evaluated.id}/rounds`)).body.data;
    // The one row of the evaluation is within the bounds; a third of the participants' are. The mean has the noise.
    expect(round).toMatchObject({ accuracy: 1, metrics: { train: {}, evaluate: { accuracy: 1, count: expect.any(Number) } } });
  });
});

describe("found out later, the federation fails with the reason and no epsilon is counted", () => {
  const local = { task, rounds: 1, dp: { ...dp, mode: "local" } };
  const requireUnable = async (id: string) => {
    const failed = await federationWhen(system, { token: tenant.token, id });
    expect(failed).toMatchObject({ state: "failed", head: null, epsilon: null, failure: { code: "VALIDATION_ERROR" } });
    expect(failed.failure.message).toMatch(/Participant p2 .* cannot clip its updates and add noise to its updates/);
    expect((await ask("GET", `/${id}/rounds`)).body.data).toEqual([]);
    expect(await accountOf("digits")).toBeUndefined();
  };

  test("a participant that could not be reached at creation and cannot add noise", async () => {
    const port = await freePort();
    const { body } = await ask("POST", "", { ...local, participants: [{ url: node.url }, { url: `http://127.0.0.1:${port}` }] });
    const { id } = body.federation;
    await federationWhen(system, { token: tenant.token, id, isDone: ({ state }) => state === "waiting" });
    const { methods } = await flock({ parameters: () => pickle("model"), port });
    await requireUnable(id);
    expect(methods).toEqual([]);
  });

  test("a participant that joins with a token and declares nothing is a 400 for itself, and its place stays open", async () => {
    const { body } = await ask("POST", "", { ...local, participants: [{ url: node.url }, { join: true }] });
    const refused = await call(system.url, "GET", "/training/join/tasks", { token: body.joinTokens[0] });
    expect(refused).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR", details: [{ path: "headers.x-capabilities" }] } });
    expect(refused.body.error).toMatch(/Participant p2 cannot clip its updates and add noise to its updates, as dp\.mode local needs/);
    const { body: after } = await ask("GET", `/${body.federation.id}`);
    expect(after.federation.participants[1]).toMatchObject({ id: "p2", joined: false });
    await ask("POST", `/${body.federation.id}/stop`);
  });

  test("krum over pickles: the attacker's model is never the head", async () => {
    const attacker = await flock({ parameters: () => pickle("attack"), aggregate: () => pickle("666") });
    const others = await Promise.all([1, 2, 3, 4].map((index) => flock({ parameters: () => pickle(`honest ${index}`) })));
    const participants = [attacker, ...others].map(({ url }) => ({ url }));
    const federation = await ended({ strategy: { name: "krum", f: 1 }, participants });
    expect(federation).toMatchObject({ state: "failed", head: null, failure: { code: "UNSUPPORTED_PARAMETERS" } });
    expect(federation.failure.message).toContain("the coordinator cannot read its parameters (a pickle?), and the strategy krum");
    expect(attacker.methods).not.toContain("aggregate");
  });

  test("central noise over pickles: no round, no epsilon, nothing on the data set's account", async () => {
    const { url, methods } = await flock({ parameters: () => pickle("model"), aggregate: () => pickle("mean") });
    const data = { ...task, dataset: "pickled rows" };
    const initial = { blob: await uploaded(parameters(0, 0, 0, 0)) };
    const federation = await ended({ task: data, dp: { ...dp, mode: "central" }, initial, participants: [{ url }] });
    expect(federation).toMatchObject({ state: "failed", head: null, epsilon: null, failure: { code: "UNSUPPORTED_PARAMETERS" } });
    expect(federation.failure.message).toContain("dp.mode central");
    expect(methods).not.toContain("aggregate");
    expect(await accountOf("pickled rows")).toMatchObject({ rounds: 0, epsilon: 0 });
  });
});

test("a plain mean of pickles is made by the participants: two must agree, and an attacker is outvoted", async () => {
  const attacker = await flock({ parameters: () => pickle("model"), aggregate: () => pickle("666") });
  const honest = await Promise.all([1, 2].map(() => flock({ parameters: () => pickle("model"), aggregate: () => pickle("mean") })));
  const federation = await ended({ participants: [attacker, ...honest].map(({ url }) => ({ url })) });
  expect(federation).toMatchObject({ state: "completed", epsilon: null });
  expect(readFileSync(join(system.folder, "coordinator-blobs", federation.head.parameters))).toEqual(pickle("mean"));
  const { body } = await ask("GET", `/${federation.id}/rounds`);
  expect(body.data[0].record).toMatchObject({ made: "delegated", strategy: { name: "delegated", voters: ["p2", "p3"] } });
});

test("10^15 declared samples decide neither model nor rewards: the participant is refused by name, and creation warns of it", async () => {
  const own = { name: "own", config: { by_client: true, samples: { p3: 10 ** 15 } } };
  const participants = [1, 2, 3].map(() => ({ url: python.url }));
  const body = { rounds: 1, minResults: 2, task: own, eval: { mode: "none" }, participants, budgetNanoUsd: 1_000_000 };
  const created = await ask("POST", "", body);
  expect(created.body.warnings).toEqual([
    expect.stringContaining("fedavg weighs updates by them, so one participant can decide the model"),
  ]);
  const federation = await federationWhen(system, { token: tenant.token, id: created.body.federation.id });
  const { body: rounds } = await ask("GET", `/${federation.id}/rounds`);
  const reason = "TOO_MANY_SAMPLES: it declares 1000000000000000 samples, which is above 1000000000, the limit without maxSamples";
  expect(rounds.data[0].participants).toMatchObject([{ state: "accepted" }, { state: "accepted" }, { state: "failed", reason, reward: 0 }]);
  // p1 moved (1, 2, 3, 4) with 10 samples, p2 twice as far with 20.
  for (const [index, value] of headValues(federation).entries()) expect(value).toBeCloseTo(((index + 1) * (10 + 2 * 20)) / 30, 4);
  expect((await ask("POST", "", { ...body, maxSamples: 100 })).body.warnings).toEqual([]);
});

describe("what can be enforced is, and is counted", () => {
  test("trainer nodes under local noise: epsilon counts and the noise is in the model", async () => {
    const strong = { ...dp, mode: "local", clipNorm: 1, noiseMultiplier: 3 };
    const federation = await ended({ rounds: 1, dp: strong, participants: [{ url: node.url }, { url: node.url }] });
    expect(federation).toMatchObject({ state: "completed", failure: null });
    expect(federation.epsilon).toBeGreaterThan(0);
    const values = headValues(federation);
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0) / values.length);
    // The mean of two updates of deviation 3, against clipped updates that move a number by 0.04 on average.
    expect(Math.abs(deviation - 3 / Math.sqrt(2))).toBeLessThan(0.3);
  });

  test("participants of the Python SDK under local noise: the package clips and noises what its function returns", async () => {
    const silent = { ...dp, mode: "local", clipNorm: 1, noiseMultiplier: 1e-6 };
    const clipped = await ended({ dp: silent, participants: [{ url: python.url }, { url: python.url }] });
    expect(clipped).toMatchObject({ state: "completed", failure: null });
    // Each round moves (1, 2, 3, 4), of length sqrt(30), by 1.
    for (const [index, value] of headValues(clipped).entries()) expect(value).toBeCloseTo((2 * (index + 1)) / Math.sqrt(30), 4);
    const loud = await ended({ rounds: 1, dp: { ...silent, noiseMultiplier: 1e3 }, participants: [{ url: python.url }] });
    expect(loud.epsilon).toBeGreaterThan(0);
    expect(headValues(loud).some((value) => Math.abs(value) > 10)).toBe(true);
  });

  test("secureAggregation over a trainer node and two Python participants: only the sum is seen, and it is the plain one", async () => {
    const functions = await startTrainer({ TRAINER_FUNCTIONS: resolve(FIXTURES, "adding.ts") });
    stops.push(() => functions.process.stop());
    const body = {
      task: { name: "adding", config: { by_client: true } },
      participants: [functions, python, python].map(({ url }) => ({ url })),
    };
    const masked = await ended({ ...body, secureAggregation: true });
    expect(masked).toMatchObject({ state: "completed", failure: null, head: { round: 2 } });
    const { body: rounds } = await ask("GET", `/${masked.id}/rounds`);
    for (const { record, participants } of rounds.data) {
      expect(record).toMatchObject({ made: "unmasked" });
      expect(participants.map(({ state, samples }: { state: string; samples: number }) => [state, samples])).toEqual([
        ["accepted", 10],
        ["accepted", 20],
        ["accepted", 30],
      ]);
    }
    expect((await ask("GET", `/${masked.id}/verify`)).body).toEqual({ ok: true, rounds: 2, remade: 2, firstBad: null });
    const plain = headValues(await ended(body));
    // Two rounds of (1 · 10 + 2 · 20 + 3 · 30) / 60 steps.
    for (const [index, value] of plain.entries()) expect(value).toBeCloseTo((index + 1) * 2 * (140 / 60), 5);
    for (const [index, value] of headValues(masked).entries()) expect(value).toBeCloseTo(plain[index] as number, 5);
  });

  test("a secure round that failed is trained anew by `extend`, once its participant is repaired", async () => {
    const file = join(system.folder, "step.txt");
    const path = join(system.folder, "repaired.ts");
    const source = readFileSync(resolve(FIXTURES, "adding.ts"), "utf8")
      .replaceAll('"../../', `"${resolve(FIXTURES, "../..")}/`)
      .replace("const step = numberOf(clientId);", `const step = Number(readFileSync(${JSON.stringify(file)}, "utf8"));`);
    writeFileSync(path, `import { readFileSync } from "node:fs";\n${source}`);
    // Four times this is beyond the range of the sum, and ten times this as many samples, which the others' 20 and 30 hide.
    writeFileSync(file, "4");
    const functions = await startTrainer({ TRAINER_FUNCTIONS: path });
    stops.push(() => functions.process.stop());
    const participants = [functions, python, python].map(({ url }) => ({ url }));
    const body = { task: { name: "adding", config: { by_client: true } }, rounds: 1, participants, secureAggregation: { range: 13 } };
    const failed = await ended(body);
    expect(failed).toMatchObject({ state: "failed", failure: { message: expect.stringContaining("p1: it answered 422") } });
    writeFileSync(file, "1");
    expect((await ask("POST", `/${failed.id}/extend`, { rounds: 1 })).status).toBe(200);
    const repaired = await federationWhen(system, { token: tenant.token, id: failed.id });
    expect(repaired).toMatchObject({ state: "completed", failure: null, head: { round: 1 } });
    for (const [index, value] of headValues(repaired).entries()) expect(value).toBeCloseTo((index + 1) * (140 / 60), 5);
    expect((await ask("GET", `/${failed.id}/verify`)).body).toEqual({ ok: true, rounds: 1, remade: 1, firstBad: null });
  });

  test("a node that joins with its token declares what it can do", async () => {
    const body = { task, rounds: 1, dp: { ...dp, mode: "local" }, participants: [{ url: node.url }, { join: true }] };
    const { body: created } = await ask("POST", "", body);
    const joined = await startTrainer({ TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: created.joinTokens[0] });
    stops.push(() => joined.process.stop());
    const federation = await federationWhen(system, { token: tenant.token, id: created.federation.id });
    expect(federation).toMatchObject({ state: "completed" });
    expect(federation.epsilon).toBeGreaterThan(0);
  });

  test("central noise over Python participants: clipped against the base from the first round on, and noised", async () => {
    const silent = { ...dp, mode: "central", clipNorm: 1, noiseMultiplier: 1e-6 };
    const federation = await ended({ dp: silent, participants: [{ url: python.url }, { url: python.url }] });
    expect(federation).toMatchObject({ state: "completed", initialStart: { by: "participant", participantId: "p1" } });
    const { body } = await ask("GET", `/${federation.id}/rounds`);
    expect(body.data[0].record).toMatchObject({ base: federation.initialParameters, start: federation.initialStart });
    expect((await ask("GET", `/${federation.id}/verify`)).body).toMatchObject({ ok: true, rounds: 2 });
    // Each round moves (1, 2, 3, 4), of length sqrt(30), by 1.
    const step = [1, 2, 3, 4].map((value) => value / Math.sqrt(30));
    for (const [index, value] of headValues(federation).entries()) expect(value).toBeCloseTo(2 * (step[index] ?? 0), 4);
  });

  test.each([
    ["read by the coordinator", {}],
    ["masked", { secureAggregation: true }],
  ])("with central noise the owner reads models and no updates, which the noise comes off with: updates %s", async (_how, more) => {
    const body = { dp: { ...dp, mode: "central" }, ...more, strategy: "fedavgm", participants: [1, 2, 3].map(() => ({ url: node.url })) };
    const federation = await ended(body);
    expect(federation).toMatchObject({ state: "completed", failure: null });
    const { body: rounds } = await ask("GET", `/${federation.id}/rounds`);
    const blob = async (sha256: string) => (await call(system.url, "GET", `/training/blobs/${sha256}`, { token: tenant.token })).status;
    for (const { participants, record, parameters: result } of rounds.data) {
      for (const { update } of participants) expect([update.length, await blob(update)]).toEqual([64, 404]);
      if (record.strategy.secure) expect(await blob(record.strategy.secure.proof)).toBe(404);
      expect(await Promise.all([record.base, record.state ?? record.base, record.result].map(blob))).toEqual([200, 200, 200]);
      expect(result).toBe(record.result);
    }
    const [{ participants }] = rounds.data;
    const published = await call(system.url, "POST", "/training/models", {
      token: tenant.token,
      body: { model: "raw-update", blob: participants[0].update, task: { task: "softmax" }, pricing: { input: 1, output: 1 } },
    });
    expect(published.status).toBe(404);
    expect((await ask("POST", "", { task, initial: { blob: participants[0].update }, participants: body.participants })).status).toBe(404);
    expect((await ask("GET", `/${federation.id}/verify`)).body).toMatchObject({ ok: true, rounds: 2 });
  });

  test("a participant that joins with a token sends its update to the coordinator alone", async () => {
    const body = { task, rounds: 1, dp: { ...dp, mode: "central" }, participants: [{ url: node.url }, { join: true }] };
    const { body: created } = await ask("POST", "", body);
    const joined = await startTrainer({ TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: created.joinTokens[0] });
    stops.push(() => joined.process.stop());
    const federation = await federationWhen(system, { token: tenant.token, id: created.federation.id });
    expect(federation).toMatchObject({ state: "completed", failure: null });
    const [round] = (await ask("GET", `/${federation.id}/rounds`)).body.data;
    const blob = (sha256: string) => call(system.url, "GET", `/training/blobs/${sha256}`, { token: tenant.token });
    for (const { update } of round.participants) expect(await blob(update)).toMatchObject({ status: 404 });
  });

  test("central noise wraps the chosen strategy: momentum steps from the noised mean, and the record names it", async () => {
    const silent = { ...dp, mode: "central", clipNorm: 1, noiseMultiplier: 1e-6 };
    const strategy = { name: "fedavgm", momentum: 0.5, lr: 1 };
    const federation = await ended({ rounds: 3, strategy, dp: silent, participants: [{ url: python.url }, { url: python.url }] });
    expect(federation).toMatchObject({ state: "completed" });
    expect(federation.epsilon).toBeGreaterThan(0);
    // One length for the first round's step, one and a half for the second's, one and three quarters for the third's.
    const step = [1, 2, 3, 4].map((value) => value / Math.sqrt(30));
    for (const [index, value] of headValues(federation).entries()) expect(value).toBeCloseTo(4.25 * (step[index] ?? 0), 3);
    const { body } = await ask("GET", `/${federation.id}/rounds`);
    expect(body.data[2].record).toMatchObject({ made: "noised", strategy: { name: "fedavgm", momentum: 0.5, clip_norm: 1 } });
  });

  test("integers are not covered by noise, so they are not taken under it", async () => {
    const counted = encodeParameters([{ name: "seen", dtype: "i64", shape: [1], data: BigInt64Array.of(42n) }], "safetensors");
    const { url } = await flock({ parameters: () => counted });
    const initial = { blob: await uploaded(parameters(0)) };
    const federation = await ended({ dp: { ...dp, mode: "central" }, initial, participants: [{ url }] });
    expect(federation).toMatchObject({ state: "failed", epsilon: null, failure: { code: "UNSUPPORTED_PARAMETERS" } });
    expect(federation.failure.message).toContain('its tensor "seen" is not of floats');
  });
});
