import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { decodeParameters } from "../../../trainer-node/codec/parameters.ts";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startFlockParticipant, startPythonParticipant, startTrainer } from "../../helpers/federations.ts";
import { type System, startSystem } from "../../helpers/system.ts";

const run = promisify(execFile);
const python = process.env["TEST_PYTHON"];
const task = { name: "softmax", config: { epochs: 1 }, dataset: { name: "digits", partition: { scheme: "iid", seed: 3 } } };

let system: System;
let tenant: Tenant;
let other: Tenant;
let folder: string;
let node: Awaited<ReturnType<typeof startTrainer>>;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-parameters-"));
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  node = await startTrainer();
  stops.push(() => node.process.stop());
  tenant = await newTenant(system, { name: "rivers", creditNano: 1_000_000_000 });
  other = await newTenant(system, { name: "elsewhere" });
});
afterAll(async () => {
  await system?.stop();
  await Promise.all(stops.map((stop) => stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function trained(body: object): Promise<ReturnType<typeof JSON.parse>> {
  const created = await call(system.url, "POST", "/training/federations", { token: tenant.token, body: { rounds: 2, task, ...body } });
  expect({ status: created.status, text: created.status === 201 ? "" : created.text }).toEqual({ status: 201, text: "" });
  const federation = await federationWhen(system, { token: tenant.token, id: created.body.federation.id });
  expect(federation).toMatchObject({ state: "completed" });
  return { ...federation, joinTokens: created.body.joinTokens };
}

async function get(path: string, headers: Record<string, string> = { authorization: `Bearer ${tenant.token}` }) {
  const response = await fetch(`${system.url}/training/federations/${path}`, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isFile = response.headers.get("content-type") === "application/octet-stream";
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    body: isFile || bytes.length === 0 ? undefined : JSON.parse(String(bytes)),
  };
}

const stored = (sha256: string) => readFileSync(join(system.folder, "coordinator-blobs", sha256));
const byName = (bytes: Uint8Array) =>
  Object.fromEntries(decodeParameters(bytes).tensors.map(({ name, data }) => [name, Array.from(data as Float32Array)]));

test("the trained model is a file: newest or of a round, with its name, its hash and 304 for who has it", async () => {
  const { id, head } = await trained({ name: "Rivers & Lakes", participants: [{ url: node.url }, { url: node.url }] });
  const newest = await get(`${id}/parameters`);
  expect(newest.status).toBe(200);
  expect(newest.bytes).toEqual(stored(head.parameters));
  expect(decodeParameters(newest.bytes).format).toBe("safetensors");
  expect(newest.headers.get("content-disposition")).toBe('attachment; filename="Rivers-Lakes-round-2.safetensors"');
  expect(newest.headers.get("etag")).toBe(`"${hash("sha256", newest.bytes, "hex")}"`);
  expect(newest.headers.get("content-length")).toBe(String(newest.bytes.byteLength));
  const authorization = `Bearer ${tenant.token}`;
  const again = await get(`${id}/parameters`, { authorization, "if-none-match": newest.headers.get("etag") ?? "" });
  expect([again.status, again.bytes.byteLength, again.headers.get("etag")]).toEqual([304, 0, newest.headers.get("etag")]);

  const { body: rounds } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
  const first = await get(`${id}/rounds/1/parameters`);
  expect(first.bytes).toEqual(stored(rounds.data[0].parameters));
  expect(first.headers.get("content-disposition")).toContain("round-1.safetensors");

  const npz = await get(`${id}/parameters?format=npz`);
  expect(byName(npz.bytes)).toEqual(byName(newest.bytes));
  expect(npz.headers.get("content-disposition")).toContain("round-2.npz");
  expect(npz.headers.get("etag")).toBe(`"${hash("sha256", npz.bytes, "hex")}"`);
  const kept = await get(`${id}/parameters?format=npz`, { authorization, "if-none-match": npz.headers.get("etag") ?? "" });
  expect(kept.status).toBe(304);
});

test("its team has it by token or key, a participant by its join token, and is a 404 for all others", async () => {
  const created = await call(system.url, "POST", "/training/federations", {
    token: tenant.token,
    body: { task, rounds: 1, participants: [{ url: node.url }, { join: true }] },
  });
  const { federation, joinTokens } = created.body;
  const early = await get(`${federation.id}/parameters`);
  expect(early).toMatchObject({ status: 404, body: { error: expect.stringContaining("no round has been committed") } });
  const joined = await startTrainer({ TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: joinTokens[0] });
  stops.push(() => joined.process.stop());
  const { head } = await federationWhen(system, { token: tenant.token, id: federation.id });
  const path = `${federation.id}/parameters`;
  for (const headers of [
    { authorization: `Bearer ${tenant.token}` },
    { "x-gw-api-key": tenant.key },
    { authorization: `Bearer ${joinTokens[0]}` },
  ]) {
    expect((await get(path, headers as unknown as Record<string, string>)).bytes).toEqual(stored(head.parameters));
  }
  expect((await get(path, { authorization: `Bearer ${other.token}` })).status).toBe(404);
  expect((await get(path, { authorization: `Bearer join_${"x".repeat(43)}` })).status).toBe(404);
  expect((await get(path, {})).status).toBe(401);
  expect(await get(`${federation.id}/rounds/7/parameters`)).toMatchObject({
    status: 404,
    body: { error: expect.stringContaining("Round 7 has not been committed") },
  });
  expect(await get(`${path}?format=torch`)).toMatchObject({ status: 400, body: { details: [{ path: "query.format" }] } });
});

test("of Python participants it is safetensors that Python reads", async () => {
  const participant = await startPythonParticipant();
  stops.push(participant.stop);
  const { id } = await trained({ participants: [{ url: participant.url }, { url: participant.url }] });
  const { bytes } = await get(`${id}/parameters`);
  expect(byName(bytes)).toEqual({ weight: [2, 4, 6, 8] });
  const file = join(folder, "model.safetensors");
  writeFileSync(file, bytes);
  const read =
    "import sys; from tributary_participant.safetensors import load; print(load(open(sys.argv[1], 'rb').read())['weight'].values())";
  const { stdout } = await run(python ?? "python3", ["-c", read, file], {
    env: { PYTHONPATH: join(import.meta.dirname, "../../../sdk/python/src") },
  });
  expect(stdout.trim()).toBe("[2.0, 4.0, 6.0, 8.0]");
  const npz = join(folder, "model.npz");
  writeFileSync(npz, (await get(`${id}/parameters?format=npz`)).bytes);
  if (python === undefined) return;
  const numpy = "import sys, numpy; print(numpy.load(sys.argv[1])['weight'].tolist())";
  expect((await run(python, ["-c", numpy, npz])).stdout.trim()).toBe("[2.0, 4.0, 6.0, 8.0]");
});

test("opaque parameters come as they are, and another format of them is refused with that advice", async () => {
  const pickle = Buffer.concat([Buffer.from([0x80, 4]), Buffer.from("a model of theirs")]);
  // Two that aggregate to the same bytes.
  const flocks = await Promise.all([1, 2].map(() => startFlockParticipant({ parameters: () => pickle, aggregate: () => pickle })));
  stops.push(...flocks.map(({ stop }) => stop));
  const { id } = await trained({ participants: flocks.map(({ url }) => ({ url })) });
  for (const query of ["", "?format=raw"]) {
    const raw = await get(`${id}/parameters${query}`);
    expect(raw.bytes).toEqual(pickle);
    expect(raw.headers.get("content-disposition")).toContain("-round-2.bin");
  }
  expect(await get(`${id}/parameters?format=safetensors`)).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("use format=raw"), details: [{ path: "query.format" }] },
  });
});
