import { hash } from "node:crypto";
import { decodeParameters, encodeParameters } from "../../../trainer-node/codec/parameters.ts";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startTrainer } from "../../helpers/federations.ts";
import { type System, startSystem } from "../../helpers/system.ts";

const task = { name: "softmax", config: { epochs: 1, lr: 0.3 }, dataset: { name: "digits", partition: { scheme: "iid", seed: 3 } } };

let system: System;
let tenant: Tenant;
let stranger: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;

beforeAll(async () => {
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  node = await startTrainer();
  tenant = await newTenant(system, { name: "rivers", creditNano: 1_000_000_000 });
  stranger = await newTenant(system, { name: "elsewhere" });
});
afterAll(async () => {
  await system?.stop();
  await node?.process.stop();
});

const create = (body: object, { token } = tenant) =>
  call(system.url, "POST", "/training/federations", {
    token,
    body: { rounds: 1, task, participants: [{ url: node.url }, { url: node.url }], ...body },
  });

async function trained(body: object) {
  const { status, body: created, text } = await create(body);
  expect({ status, text: status === 201 ? "" : text }).toEqual({ status: 201, text: "" });
  return completed(created.federation.id);
}

async function completed(id: string) {
  const federation = await federationWhen(system, { token: tenant.token, id });
  expect(federation).toMatchObject({ state: "completed", failure: null });
  const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
  return { ...federation, records: body.data.map(({ record }: { record: object }) => record) };
}

async function download(path: string): Promise<Buffer> {
  const response = await fetch(`${system.url}/training/federations/${path}`, { headers: { authorization: `Bearer ${tenant.token}` } });
  expect(response.status).toBe(200);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get("etag")).toBe(`"${hash("sha256", bytes, "hex")}"`);
  return bytes;
}

async function upload(bytes: Uint8Array, { token } = tenant): Promise<string> {
  const sha256 = hash("sha256", bytes, "hex");
  const response = await fetch(`${system.url}/training/blobs/${sha256}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}` },
    body: new Uint8Array(bytes),
  });
  expect(response.status).toBe(201);
  return sha256;
}

const byName = (bytes: Uint8Array) =>
  Object.fromEntries(decodeParameters(bytes).tensors.map(({ name, data }) => [name, Array.from(data as Float32Array)]));

test("two rounds are extended to three, the model comes out in two formats, and goes into other federations", async () => {
  const first = await trained({ rounds: 2 });
  const extended = await call(system.url, "POST", `/training/federations/${first.id}/extend`, { token: tenant.token, body: { rounds: 1 } });
  expect([extended.status, extended.body.federation.rounds]).toEqual([200, 3]);
  const { head, records } = await completed(first.id);
  expect([head.round, records[2].base]).toEqual([3, first.head.parameters]);
  const verified = await call(system.url, "GET", `/training/federations/${first.id}/verify`, { token: tenant.token });
  expect(verified.body).toMatchObject({ ok: true, rounds: 3, remade: 3 });

  const [safetensors, npz] = [await download(`${first.id}/parameters`), await download(`${first.id}/parameters?format=npz`)];
  expect(hash("sha256", safetensors, "hex")).toBe(head.parameters);
  expect(byName(npz)).toEqual(byName(safetensors));
  expect(byName(await download(`${first.id}/rounds/2/parameters`))).not.toEqual(byName(safetensors));

  const published = await call(system.url, "POST", `/training/federations/${first.id}/publish`, {
    token: tenant.token,
    body: { model: "our-digits" },
  });
  expect(published.status).toBe(201);
  const initials = [
    [{ federation: first.id }, head.parameters],
    [{ federation: first.id, round: 1 }, records[0].result],
    [{ blob: await upload(npz) }, hash("sha256", npz, "hex")],
    [{ model: "our-digits", version: 1 }, head.parameters],
  ] as const;
  for (const [initial, base] of initials) {
    const next = await trained({ initial });
    expect([next.initialParameters, next.records[0].base]).toEqual([base, base]);
  }
  const asked = await trained({ initial: { participant: 1 } });
  expect(asked.records[0].base).toBe(asked.initialParameters);
  expect(asked.initialParameters).toMatch(/^[0-9a-f]{64}$/);
});

test("rounds have the metrics of training and evaluation, which are exported in three formats", async () => {
  const { id } = await trained({ rounds: 2, eval: { mode: "sites" } });
  const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
  const [round] = body.data;
  const numbers = { loss: expect.any(Number), accuracy: expect.any(Number), duration_ms: expect.any(Number) };
  expect(round.metrics).toEqual({ train: numbers, evaluate: numbers });
  expect(round.metrics.evaluate).toMatchObject({ accuracy: round.accuracy, loss: round.loss });
  expect(round.participants.map(({ metrics, evaluation }: Record<string, unknown>) => [metrics, evaluation])).toEqual([
    [
      { train: numbers, evaluate: numbers },
      { state: "done", reason: null },
    ],
    [
      { train: numbers, evaluate: numbers },
      { state: "done", reason: null },
    ],
  ]);
  const exported = async (format: string, { token } = tenant) =>
    fetch(`${system.url}/training/federations/${id}/metrics?format=${format}`, { headers: { authorization: `Bearer ${token}` } });
  expect((await (await exported("json")).json()) as object).toMatchObject({ rounds: [{ metrics: round.metrics }, { round: 2 }] });
  expect(await (await exported("csv")).text()).toContain(`1,,evaluate,accuracy,${round.accuracy}\r\n`);
  const events = Buffer.from(await (await exported("tensorboard")).arrayBuffer());
  expect([events.includes("brain.Event:2"), events.includes("p2/evaluate/accuracy")]).toEqual([true, true]);
  expect([(await exported("mlflow")).status, (await exported("json", stranger)).status]).toEqual([400, 404]);
});

test("parameters that are not the organization's, are missing or cannot be used are refused with the reason", async () => {
  const federation = await trained({});
  const { parameters } = federation.head;
  const nan = encodeParameters([{ name: "w", dtype: "f32", shape: [1], data: Float32Array.of(Number.NaN) }], "safetensors");
  const broken = await upload(nan);
  const opaque = await upload(Uint8Array.of(0x80, 4, 46));
  const refused = async (initial: object, more: object = {}, who = tenant) => {
    const { status, text } = await create({ initial, ...more }, who);
    return `${status} ${text}`;
  };
  expect(await refused({ blob: "0".repeat(64) })).toMatch(/^404 .*body\.initial\.blob/);
  expect(await refused({ blob: parameters }, {}, stranger)).toMatch(/^404 /);
  expect(await refused({ federation: federation.id }, {}, stranger)).toMatch(/^404 /);
  expect(await refused({ federation: federation.id, round: 9 })).toMatch(/^404 .*Round 9 has not been committed/);
  expect(await refused({ model: "none" })).toMatch(/^404 /);
  expect(await refused({ blob: broken })).toMatch(/^400 .*body\.initial\.blob.*NON_FINITE/);
  expect(await refused({ blob: opaque }, { strategy: "fedadam" })).toMatch(/^400 .*UNSUPPORTED_PARAMETERS/);
  expect(await refused({ participant: 2 })).toMatch(/^400 .*must be below 2/);
  expect(await refused({ blob: broken, round: 1 })).toMatch(/^400 .*body\.initial\.round/);
});
