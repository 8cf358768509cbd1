import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startTrainer } from "../../helpers/federations.ts";
import { type System, startSystem, TRAINER_TOKEN } from "../../helpers/system.ts";

const LIMIT = 20_000;
const LIMITS = { BLOBS_BYTES_MAX_PER_ORGANIZATION: String(LIMIT), FILES_BYTES_MAX_PER_ORGANIZATION: "10000" };
let system: System;
let ann: Tenant;
let bob: Tenant;
beforeAll(async () => {
  system = await startSystem({ trainer: true, coordinator: true, env: LIMITS });
  [ann, bob] = [await newTenant(system), await newTenant(system)];
});
let participant: Server | undefined;
afterAll(async () => {
  participant?.close();
  participant?.closeAllConnections();
  await system.stop();
});

const ROWS = [
  { a: 0, label: 0 },
  { a: 1, label: 1 },
];
const portOf = (url: string) => new URL(url).port;
const at = (node: string, path: string) => `/training/nodes/${node}${path}`;

/** A new softmax model of one column and two classes as safetensors, all of whose bytes are text. */
function softmaxModel({ number = "\0\0", weight = [1, 2] } = {}): string {
  const tensors = { weight, bias: [2] };
  let at = 0;
  const entries = Object.entries(tensors).map(([name, shape]) => {
    const bytes = 2 * shape.reduce((product, size) => product * size, 1);
    at += bytes;
    return [name, { dtype: "F16", shape, data_offsets: [at - bytes, at] }];
  });
  const header = JSON.stringify({ __metadata__: { id: randomUUID() }, ...Object.fromEntries(entries) });
  return `\0\x01${"\0".repeat(6)}${header.padEnd(256)}${number.repeat(at / 2)}`;
}

async function storeBlob(owner: Tenant, node: string, bytes = softmaxModel()): Promise<string> {
  const path = `/v1/blobs/${createHash("sha256").update(bytes).digest("hex")}`;
  const stored = await call(system.url, "PUT", at(node, path), { key: owner.key, body: bytes });
  expect(stored.status).toBe(201);
  return path;
}

async function register(url: string, owner: Tenant = ann): Promise<string> {
  const made = await call(system.url, "POST", "/training/nodes", { token: owner.token, body: { url } });
  expect([url, made.status]).toEqual([url, 201]);
  return made.body.node.id;
}

test.each(["localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"])(
  "the operator's trainer under the name %s keeps tenants apart as under its own",
  async (host) => {
    const job = await call(system.url, "POST", at("node_local", "/v1/train"), {
      key: bob.key,
      body: { dataset: ROWS, config: { epochs: 1 } },
      headers: { prefer: "respond-async" },
    });
    expect(job.status).toBe(202);
    const blob = await storeBlob(bob, "node_local");
    const alias = await register(`http://${host}:${portOf(system.trainerUrl)}`);
    const jobPath = `/v1/jobs/${job.body.id}`;
    expect((await call(system.url, "GET", at(alias, jobPath), { key: ann.key })).status).toBe(404);
    expect((await call(system.url, "GET", at(alias, `${jobPath}/result`), { key: ann.key })).status).toBe(404);
    for (const node of [alias, "node_local"]) {
      for (const method of ["GET", "HEAD", "DELETE"]) {
        expect([node, method, (await call(system.url, method, at(node, blob), { key: ann.key })).status]).toEqual([node, method, 404]);
      }
      const named = { dataset: ROWS, parameters_ref: blob.slice("/v1/blobs/".length) };
      expect((await call(system.url, "POST", at(node, "/v1/evaluate"), { key: ann.key, body: named })).body.code).toBe("BLOB_NOT_FOUND");
    }
    expect((await call(system.url, "GET", at("node_local", blob), { key: bob.key })).status).toBe(200);
    expect((await call(system.url, "GET", at("node_local", jobPath), { key: bob.key })).status).toBe(200);
    // Bob's own blob is Bob's to delete.
    expect((await call(system.url, "DELETE", at("node_local", blob), { key: bob.key })).status).toBe(204);
    expect((await call(system.url, "GET", at("node_local", blob), { key: bob.key })).status).toBe(404);
  },
);

test("a process of this machine without the trainer's token is no organization and not the operator", async () => {
  const job = await call(system.url, "POST", at("node_local", "/v1/train"), {
    key: bob.key,
    body: { dataset: ROWS },
    headers: { prefer: "respond-async" },
  });
  const blob = await storeBlob(bob, "node_local");
  for (const headers of [{}, { "x-gw-tenant": bob.organizationId }]) {
    expect((await call(system.trainerUrl, "GET", `/v1/jobs/${job.body.id}`, { headers })).status).toBe(404);
    expect((await call(system.trainerUrl, "GET", blob, { headers })).status).toBe(404);
    expect((await call(system.trainerUrl, "DELETE", blob, { headers })).status).toBe(404);
    expect((await call(system.trainerUrl, "POST", "/train", { body: { dataset: ROWS }, headers })).status).toBe(200);
  }
  expect((await call(system.trainerUrl, "GET", blob, { key: TRAINER_TOKEN })).status).toBe(200);
});

test("a team's node with the shared trainer's address is the shared trainer: its jobs are the team's own", async () => {
  const node = await register(system.trainerUrl, bob);
  const job = await call(system.url, "POST", at(node, "/v1/train"), {
    key: bob.key,
    body: { dataset: ROWS },
    headers: { prefer: "respond-async" },
  });
  expect(job.status).toBe(202);
  expect((await call(system.url, "GET", at("node_local", `/v1/jobs/${job.body.id}`), { key: bob.key })).status).toBe(200);
  expect((await call(system.url, "GET", at("node_local", `/v1/jobs/${job.body.id}`), { key: ann.key })).status).toBe(404);
  expect((await call(system.trainerUrl, "GET", `/v1/jobs/${job.body.id}`)).status).toBe(404);
});

test("a node that has only a secret can be called through the edge, by a team that registered it with the secret", async () => {
  const secret = "a-secret-of-the-node-and-its-team";
  const trainer = await startTrainer({ TRAINER_SECRET: secret, DATA_DIR: join(system.folder, "participant") });
  try {
    const body = { dataset: ROWS, config: { epochs: 1 } };
    const train = async (node: string, key: string) => call(system.url, "POST", at(node, "/v1/train"), { key, body });
    const unsigned = await register(trainer.url, bob);
    expect(await train(unsigned, bob.key)).toMatchObject({ status: 401, body: { code: "UNAUTHORIZED" } });
    const made = await call(system.url, "POST", "/training/nodes", { token: ann.token, body: { url: trainer.url, secret } });
    expect([made.status, made.text.includes(secret)]).toEqual([201, false]);
    const node = made.body.node.id;
    expect((await train(node, ann.key)).status).toBe(200);
    const blob = await storeBlob(ann, node);
    expect((await call(system.url, "GET", at(node, blob), { key: ann.key })).status).toBe(200);
    expect((await call(system.url, "GET", at(node, "/v1/info"), { key: ann.key })).status).toBe(200);
    expect((await call(system.url, "DELETE", at(node, blob), { key: ann.key })).status).toBe(204);
  } finally {
    await trainer.process.stop();
  }
});

test("a blob that two tenants stored is there for each of them until they delete their own", async () => {
  const bytes = "the same parameters";
  const path = at("node_local", `/v1/blobs/${createHash("sha256").update(bytes).digest("hex")}`);
  const statuses: number[] = [];
  for (const { key } of [ann, bob]) statuses.push((await call(system.url, "PUT", path, { key, body: bytes })).status);
  const read = ({ key }: Tenant) => call(system.url, "GET", path, { key }).then(({ status }) => status);
  statuses.push((await call(system.url, "DELETE", path, { key: ann.key })).status, await read(ann), await read(bob));
  statuses.push((await call(system.url, "DELETE", path, { key: bob.key })).status, await read(bob));
  expect(statuses).toEqual([201, 201, 204, 404, 200, 204, 404]);
});

test("every call to a node says whose it is: through the edge and from the coordinator", async () => {
  const seen: { path: string; tenant: IncomingHttpHeaders[string] }[] = [];
  participant = createServer((request, response) => {
    request.resume();
    seen.push({ path: request.url ?? "", tenant: request.headers["x-gw-tenant"] });
    response.writeHead(500, { "content-type": "application/json" }).end('{"error":"not today","code":"SERVER_ERROR"}');
  }).listen(0, "127.0.0.1");
  await once(participant, "listening");
  const url = `http://127.0.0.1:${(participant.address() as AddressInfo).port}`;
  const node = await register(url);
  await call(system.url, "GET", at(node, "/v1/info"), { key: ann.key, headers: { "x-gw-tenant": bob.organizationId } });
  expect(seen).toEqual([{ path: "/v1/info", tenant: ann.organizationId }]);
  const created = await call(system.url, "POST", "/training/federations", {
    token: ann.token,
    body: { name: "f", rounds: 1, strategy: { name: "fedavg" }, task: { name: "softmax" }, participants: [{ url }] },
  });
  expect(created.status).toBe(201);
  // The events tell that the coordinator has begun: it looks at its participants before the first round.
  const events = await fetch(`${system.url}/training/federations/${created.body.federation.id}/events`, {
    headers: { authorization: `Bearer ${ann.token}` },
  });
  const reader = events.body?.getReader();
  while (seen.length < 2 && !(await reader?.read())?.done);
  await reader?.cancel();
  await call(system.url, "POST", `/training/federations/${created.body.federation.id}/stop`, { token: ann.token });
  expect(seen.length).toBeGreaterThan(1);
  expect(new Set(seen.map(({ tenant }) => tenant))).toEqual(new Set([ann.organizationId]));
});

describe("blobs at the coordinator", () => {
  const blobPath = (sha256: string) => `/training/blobs/${sha256}`;
  const digestOf = (bytes: string) => createHash("sha256").update(bytes).digest("hex");
  const put = (owner: Tenant, bytes: string, sha256 = digestOf(bytes)) =>
    call(system.url, "PUT", blobPath(sha256), { key: owner.key, body: bytes });
  const publish = (owner: Tenant, blob: string) =>
    call(system.url, "POST", "/training/models", {
      token: owner.token,
      body: { model: `m-${blob.slice(0, 8)}`, blob, task: { task: "softmax" } },
    });
  const federate = async (owner: Tenant, participants: object[]) => {
    const settings = { name: "f", rounds: 1, task: { name: "softmax", dataset: "digits", config: { epochs: 1 } } };
    const created = await call(system.url, "POST", "/training/federations", { token: owner.token, body: { ...settings, participants } });
    expect([created.status, created.text]).toEqual([201, expect.anything()]);
    return created.body;
  };
  /** The hashes of Bob's finished federation: its result and its single update. */
  let result: string;
  let update: string;
  beforeAll(async () => {
    const { federation } = await federate(bob, [{ url: system.trainerUrl, dataset: "digits" }]);
    const { head } = await federationWhen(system, { token: bob.token, id: federation.id });
    const rounds = await call(system.url, "GET", `/training/federations/${federation.id}/rounds`, { token: bob.token });
    [result, update] = [head.parameters, rounds.body.data[0].participants[0].update];
  }, 30_000);

  test("an organization reads, publishes and deletes what it uploaded; for others it is not there", async () => {
    const bytes = softmaxModel();
    const path = blobPath(digestOf(bytes));
    expect(await put(bob, bytes)).toMatchObject({ status: 201, body: { blob: { sha256: digestOf(bytes), bytes: bytes.length } } });
    expect((await put(bob, bytes)).status).toBe(200);
    for (const each of [ann, bob]) expect((await put(each, "other bytes", digestOf(bytes))).status).toBe(400);
    for (const method of ["GET", "HEAD", "DELETE"]) expect((await call(system.url, method, path, { key: ann.key })).status).toBe(404);
    expect((await call(system.url, "GET", path, { token: bob.token })).text).toBe(bytes);
    expect((await call(system.url, "GET", path)).status).toBe(401);
    expect(await publish(ann, digestOf(bytes))).toMatchObject({ status: 404, body: { details: [{ path: "body.blob" }] } });
    expect((await publish(bob, digestOf(bytes))).status).toBe(201);
    expect((await call(system.url, "DELETE", path, { key: bob.key })).status).toBe(409);
    const unused = `unused ${randomUUID()}`;
    await put(bob, unused);
    expect((await call(system.url, "DELETE", blobPath(digestOf(unused)), { key: bob.key })).status).toBe(204);
    expect((await call(system.url, "GET", blobPath(digestOf(unused)), { key: bob.key })).status).toBe(404);
  });

  test.each([
    [
      "a pickle",
      "\x80\x04.",
      "UNSUPPORTED_PARAMETERS: the coordinator cannot read its parameters (a pickle?), and the task softmax has to",
    ],
    ["infinite weights", softmaxModel({ number: "\0|" }), 'NON_FINITE: tensor "weight" has a NaN or infinity'],
    ["another shape", softmaxModel({ weight: [3] }), 'SHAPE_MISMATCH: tensor "weight" must be [columns, classes]; it is [3]'],
  ])("%s is not published, whether it is at the coordinator or on a shared node", async (_name, bytes, problem) => {
    await put(bob, bytes);
    const onNode = await storeBlob(ann, "node_local", bytes);
    for (const owner of [bob, ann]) {
      const refused = await publish(owner, onNode.slice("/v1/blobs/".length));
      expect([refused.status, refused.body.code, refused.body.details?.[0]?.path]).toEqual([400, "VALIDATION_ERROR", "body.blob"]);
      expect(refused.body.error).toContain(problem);
    }
  });

  test("a hash that nothing is stored under is not published, nor what only another organization has on the shared node", async () => {
    expect((await publish(bob, "0".repeat(64))).status).toBe(404);
    const digest = (await storeBlob(bob, "node_local")).slice("/v1/blobs/".length);
    expect((await publish(ann, digest)).status).toBe(404);
    expect((await publish(bob, digest)).status).toBe(201);
  });

  test("what a federation made is its organization's: not another's, and not that of another federation's participant", async () => {
    const { federation, joinTokens } = await federate(ann, [{ join: true }, { url: "http://127.0.0.1:9" }]);
    const headers = { authorization: `Bearer ${joinTokens[0]}` };
    const anns = `ann's ${randomUUID()}`;
    await put(ann, anns);
    for (const sha256 of [result, update]) {
      expect((await call(system.url, "GET", blobPath(sha256), { key: bob.key })).status).toBe(200);
      expect((await call(system.url, "GET", blobPath(sha256), { key: ann.key })).status).toBe(404);
      expect((await publish(ann, sha256)).status).toBe(404);
    }
    for (const sha256 of [result, update, digestOf(anns)]) {
      const answer = await call(system.url, "GET", `/training/join/blobs/${sha256}`, { headers });
      expect([sha256, answer.status]).toEqual([sha256, 404]);
    }
    expect((await publish(bob, result)).status).toBe(201);
    await call(system.url, "POST", `/training/federations/${federation.id}/stop`, { token: ann.token });
  });

  test("parallel uploads of one organization stay within its limit, at the coordinator and on the shared node; others have their own", async () => {
    const [carl, dora] = [await newTenant(system), await newTenant(system)];
    const texts = Array.from({ length: 8 }, () => randomUUID().repeat(120).slice(0, 4000));
    const onNode = (text: string) => at("node_local", `/v1/blobs/${digestOf(text)}`);
    for (const upload of [
      (text: string) => put(carl, text),
      (text: string) => call(system.url, "PUT", onNode(text), { key: carl.key, body: text }),
    ]) {
      const answers = await Promise.all(texts.map(upload));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 413, 413, 413]);
      const { body } = answers.find(({ status }) => status === 413) as (typeof answers)[number];
      expect(body.error).toMatch(/Your organization has \d+ bytes of blobs here, and this one would exceed the limit of 20000/);
    }
    expect((await put(dora, "dora's")).status).toBe(201);
    const { body } = await call(system.url, "GET", "/api/gw/storage", { token: carl.token });
    expect(body.storage.blobs).toEqual({
      ...{ used: 40_000, limit: 40_000 },
      places: ["coordinator", "node_local"].map((place) => ({ place, used: LIMIT, limit: LIMIT })),
    });
  });
});

test("parallel uploads of files stay within an organization's limit, and a deletion makes room", async () => {
  const eve = await newTenant(system);
  const upload = async () => {
    const body = new FormData();
    body.append("purpose", "assistants");
    body.append("file", new Blob(["x".repeat(4000)]), "notes.txt");
    const answer = await fetch(`${system.url}/v1/files`, { method: "POST", headers: { "x-gw-api-key": eve.key }, body });
    return { status: answer.status, body: (await answer.json()) as ReturnType<typeof JSON.parse> };
  };
  const used = async () => (await call(system.url, "GET", "/api/gw/storage", { token: eve.token })).body.storage.files;
  const answers = await Promise.all(Array.from({ length: 6 }, upload));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 413, 413, 413, 413]);
  expect(answers.find(({ status }) => status === 413)?.body.error).toMatchObject({
    ...{ type: "invalid_request_error", code: "request_too_large" },
    message: expect.stringMatching(
      /^Your organization has \d+ bytes of files, and this one would exceed the limit of 10000 .*DELETE \/v1\/files/,
    ),
  });
  expect(await used()).toEqual({ used: 8000, limit: 10_000 });
  const { id } = answers.find(({ status }) => status === 200)?.body ?? {};
  expect((await call(system.url, "DELETE", `/v1/files/${id}`, { key: eve.key })).status).toBe(200);
  expect(await used()).toEqual({ used: 4000, limit: 10_000 });
  expect((await upload()).status).toBe(200);
});
