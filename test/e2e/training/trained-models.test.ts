import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { within } from "../../contract/support.ts";
import { type Answer, adminToken, call, newTenant, type Tenant } from "../../helpers/api.ts";
import { type System, startSystem } from "../../helpers/system.ts";

const TOKEN = "a secret of node and gateway";
const PRICE = { input: 2_000_000_000, output: 5_000_000_000 };
const LABELS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/** The images that training never sees, as the node's own file has them. */
const held = readFileSync(join(__dirname, "../../../trainer-node/compute/datasets/digits.txt"), "utf8")
  .trimEnd()
  .split("\n")
  .slice(1437)
  .map((line) => ({
    row: JSON.stringify([...line.slice(0, 64)].map((pixel) => Number.parseInt(pixel, 17) / 16)),
    label: Number(line[64]),
  }));

let system: System;
let owner: Tenant;
let stranger: Tenant;
/** Versions 1 and 2: one that has seen half of the digits, and one that has seen all. */
let blobs: string[];

beforeAll(async () => {
  system = await startSystem({ trainer: true, edges: 2, env: { TRAINER_TOKEN: TOKEN } });
  [owner, stranger] = await Promise.all([
    newTenant(system, { creditNano: 1_000_000_000 }),
    newTenant(system, { creditNano: 1_000_000_000 }),
  ]);
  const halfBlind = { name: "digits", classes: [0, 1, 2, 3, 4] };
  blobs = await Promise.all([trainedBlob(halfBlind), trainedBlob("digits")]);
});
afterAll(() => system?.stop());

async function trainedBlob(dataset: unknown): Promise<string> {
  const config = { task: "softmax", epochs: 8, batch_size: 16, lr: 0.1, seed: 7, classes: 10 };
  const trained = await call(system.trainerUrl, "POST", "/train", { key: TOKEN, body: { dataset, config, format: "safetensors" } });
  const bytes = Buffer.from(trained.body.parameters, "base64");
  const digest = createHash("sha256").update(bytes).digest("hex");
  // Each organization publishes only what it has stored itself.
  for (const { key } of [owner, stranger]) {
    const path = `/training/nodes/node_local/v1/blobs/${digest}`;
    const put = await fetch(system.url + path, { method: "PUT", body: bytes, headers: { "x-gw-api-key": key } });
    expect(put.ok).toBe(true);
  }
  return digest;
}

test("every caller can train on the operator's node, through a node proxy that holds its secret and never reveals it", async () => {
  const { body } = await call(system.url, "GET", "/training/nodes", { key: stranger.key });
  expect(body.data).toMatchObject([{ id: "node_local", url: system.trainerUrl, status: "up", lastError: null, teamId: null }]);
  expect(JSON.stringify(body)).not.toContain(TOKEN);
  const train = { dataset: "digits", config: { task: "softmax", epochs: 1 } };
  const trained = await call(system.url, "POST", "/training/nodes/node_local/train", { key: stranger.key, body: train });
  expect({ status: trained.status, samples: trained.body.num_samples }).toEqual({ status: 200, samples: 1437 });
  expect((await call(system.url, "POST", "/training/nodes/node_local/train", { body: train })).status).toBe(401);
  expect((await call(system.url, "DELETE", "/training/nodes/node_local", { token: owner.token })).status).toBe(403);
});

test("the node proxy answers 503 for a node that cannot be reached", async () => {
  const made = await call(system.url, "POST", "/training/nodes", { token: owner.token, body: { url: "http://127.0.0.1:9" } });
  const answer = await call(system.url, "GET", `/training/nodes/${made.body.node.id}/v1/info`, { token: owner.token });
  expect([answer.status, answer.text]).toEqual([503, expect.stringContaining("The trainer node cannot be reached.")]);
});

test("an admin sees where a model comes from, and is refused a change of a trained one with the way to make it", async () => {
  const token = await adminToken(system);
  const { body } = await call(system.url, "GET", "/api/admin/models?search=digits", { token });
  expect(body.data).toMatchObject([{ name: "digits", source: "training", inferenceModelId: "digits@1" }]);
  const refused = await call(system.url, "PATCH", `/api/admin/models/${body.data[0].id}`, { token, body: { status: "disabled" } });
  expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("Publish a new version")]);
  const open = await call(system.url, "GET", "/api/models?search=digits");
  expect(open.body.data[0]).not.toHaveProperty("inferenceModelId");
});

const publish = (blob: string | undefined, more: object = {}, token = owner.token): Promise<Answer> =>
  call(system.url, "POST", "/training/models", {
    token,
    body: {
      model: "numerals",
      blob,
      task: { task: "softmax", labels: LABELS },
      pricing: PRICE,
      lineage: { federationId: "fed_1", round: 3, participants: 2, accuracy: 0.9, curve: [0.5, 0.8, 0.9] },
      ...more,
    },
  });
const ask = (key: string, content: string, model = "numerals") =>
  call(system.url, "POST", "/v1/chat/completions", { key, body: { model, messages: [{ role: "user", content }] } });
const balance = async (tenant: Tenant) => (await call(system.url, "GET", "/api/balance", { token: tenant.token })).body.balance as number;
const change = (path: string, body: object, token = owner.token) =>
  call(system.url, "POST", `/training/models/numerals/${path}`, { token, body });
/** The versions that answered so many calls, over every edge. */
async function versionsOf(calls: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: calls }, () => ask(owner.key, held[0]?.row ?? "")));
  return answers.map(({ headers }) => headers.get("x-gw-model-id")?.split("@")[1] ?? "none");
}

test("a trained version is published, called with a key by the OpenAI client, and billed to the nano-USD", async () => {
  const published = await publish(blobs[0]);
  expect([published.status, published.body.version?.version]).toEqual([201, 1]);
  const client = new OpenAI({ apiKey: owner.key, baseURL: `${system.url}/v1`, maxRetries: 0 });
  await within(
    1000,
    () => ask(owner.key, held[0]?.row ?? ""),
    ({ status }) => status === 200,
  );

  const before = await balance(owner);
  const { row } = held[1] as (typeof held)[number];
  const answer = await client.chat.completions.create({ model: "numerals", messages: [{ role: "user", content: row }] });
  const said = answer.choices[0]?.message.content ?? "";
  expect(LABELS).toContain(said);
  const price = (input: number, output: number) => Math.ceil((input * PRICE.input + output * PRICE.output) / 1_000_000);
  expect(answer.usage).toMatchObject({ prompt_tokens: row.length, completion_tokens: said.length });
  const moderated = await client.moderations.create({ model: "numerals", input: row });
  expect(Object.keys(moderated.results[0]?.category_scores ?? {})).toEqual(LABELS);
  expect(moderated.results[0]?.categories).toHaveProperty([said], true);
  expect(before - (await balance(owner))).toBe(price(row.length, said.length) + price(row.length, 0));

  const { body } = await call(system.url, "GET", "/api/gw/logs?model=numerals", { token: owner.token });
  expect(body.data[0]).toMatchObject({ provider: "tributary", priceVersion: 1, usage: { input: row.length, output: 0 } });
  expect(body.data[1]).toMatchObject({ usage: { input: row.length, output: said.length, source: "provider" } });
  const proof = await call(system.url, "GET", "/api/admin/ledger/verify", { token: await adminToken(system) });
  expect(proof.body).toMatchObject({ ok: true, firstBad: null });
});

test("lists show what it is for, what it costs and where it comes from", async () => {
  const { body } = await call(system.url, "GET", "/v1/models/numerals", { key: owner.key });
  expect(body).toMatchObject({
    owned_by: "tributary",
    type: "moderation",
    pricing: { unit: "token", ...PRICE },
    trained: {
      taskId: "fed_1",
      task: "softmax",
      version: 1,
      round: 3,
      participants: 2,
      accuracy: 0.9,
      lineage: { curve: [0.5, 0.8, 0.9] },
    },
  });
  const listed = await call(system.url, "GET", "/api/models?search=numerals", { token: owner.token });
  expect(listed.body.data[0]).toMatchObject({ name: "numerals", type: "moderation", trained: { version: 1, accuracy: 0.9 } });
});

test("for another organization there is no such model: not listed, not called, not changed", async () => {
  const listed = await call(system.url, "GET", "/v1/models", { key: stranger.key });
  expect(listed.body.data.map(({ id }: { id: string }) => id)).not.toContain("numerals");
  for (const token of [stranger.token, undefined]) {
    expect((await call(system.url, "GET", "/api/models?search=numerals", { token })).body.data).toEqual([]);
  }
  const { id } = (await call(system.url, "GET", "/training/models", { token: owner.token })).body.data[0];
  for (const model of ["numerals", `${id}@1`]) {
    const refused = await ask(stranger.key, held[0]?.row ?? "", model);
    expect([refused.status, refused.body.error.code]).toEqual([404, "model_not_found"]);
  }
  for (const model of ["numerals", id]) {
    expect((await call(system.url, "GET", `/training/models/${model}/versions`, { token: stranger.token })).status).toBe(404);
    expect((await call(system.url, "POST", `/training/models/${model}/rollback`, { token: stranger.token, body: {} })).status).toBe(404);
  }
  // Another organization can use the same name: names are unique only within an organization.
  const theirs = await publish(blobs[1], { pricing: undefined }, stranger.token);
  expect([theirs.status, theirs.body.version.version]).toEqual([201, 1]);
});

test("a canary has its share, the new version takes over, and going back changes what every edge answers with", async () => {
  const canary = await publish(blobs[1], { percent: 30, pricing: undefined });
  expect(canary.body.model.traffic).toEqual([
    { version: 1, percent: 70 },
    { version: 2, percent: 30 },
  ]);
  await within(
    1000,
    () => ask(owner.key, held[0]?.row ?? ""),
    ({ headers }) => headers.get("x-gw-model-id")?.endsWith("@2") ?? false,
  );
  const split = await versionsOf(60);
  // 18 of 60 expected; less than 4 or more than 38 has a chance below one in a million.
  const twos = split.filter((version) => version === "2").length;
  expect(twos).toBeGreaterThanOrEqual(4);
  expect(twos).toBeLessThanOrEqual(38);

  expect((await change("split", { version: 2, percent: 100 })).body.model.traffic).toEqual([{ version: 2, percent: 100 }]);
  await settled("2");
  const five = held.find(({ label }) => label >= 5);
  expect(LABELS.indexOf((await ask(owner.key, five?.row ?? "")).body.choices[0].message.content)).toBeGreaterThanOrEqual(5);

  expect((await change("rollback", {})).body.model.traffic).toEqual([{ version: 1, percent: 100 }]);
  await settled("1");
  expect(LABELS.indexOf((await ask(owner.key, five?.row ?? "")).body.choices[0].message.content)).toBeLessThan(5);

  const { body } = await call(system.url, "GET", "/training/models/numerals/versions", { token: owner.token });
  expect(body.data.map(({ version, percent, blob }: Record<string, unknown>) => [version, percent, blob])).toEqual([
    [2, 0, blobs[1]],
    [1, 100, blobs[0]],
  ]);
});

/** Every edge answers with this version, from within a second on. */
async function settled(version: string): Promise<void> {
  const end = Date.now() + 1000;
  while ((await versionsOf(4)).some((each) => each !== version)) if (Date.now() > end) throw new Error(`not all edges are at ${version}`);
  expect(new Set(await versionsOf(12))).toEqual(new Set([version]));
}

test("what is wrong with a publication is named, and who may not publish is refused", async () => {
  const refusals: [object, number, string][] = [
    [{ blob: "x" }, 400, "blob"],
    [{ task: { task: "magic" } }, 400, "task.task"],
    [{ task: { task: "softmax", labels: ["a", "a"] } }, 400, "task.labels"],
    [{ task: { task: "softmax", labels: ["a", "b"], flagged: ["c"] } }, 400, "task.flagged"],
    [{ model: "no spaces please" }, 400, "model"],
    [{ model: "echo" }, 409, "model"],
    [{ model: "alone", percent: 10 }, 400, "percent"],
    [{ pricing: { unit: "image", input: 1, output: 0 } }, 400, "pricing.unit"],
    [{ model: "given-away", pricing: undefined, visibility: "listed", allowedOrganizationIds: [stranger.organizationId] }, 400, "pricing"],
    [{ allowedOrganizationIds: ["org_nobody"], visibility: "listed" }, 400, "allowedOrganizationIds"],
  ];
  for (const [more, status, path] of refusals) {
    const refused = await publish(blobs[0], more);
    expect([more, refused.status, refused.body.details?.[0]?.path]).toEqual([more, status, expect.stringContaining(path)]);
  }
  expect((await publish(blobs[0], { visibility: "public" })).status).toBe(403);
  expect((await publish(blobs[0], { organizationId: stranger.organizationId })).status).toBe(403);
  expect((await publish(blobs[0], { teamId: stranger.teamId })).status).toBe(404);
  expect((await call(system.url, "POST", "/training/models", { body: {} })).status).toBe(401);
  expect((await change("rollback", { version: 99 })).status).toBe(404);
  expect((await change("split", { version: 1, percent: 101 })).status).toBe(400);
});

test("a key publishes for its team, and does not change what belongs to the whole organization", async () => {
  const send = (path: string, body: object) =>
    call(system.url, "POST", `/training/models${path}`, { headers: { authorization: `Bearer ${owner.key}` }, body });
  const made = await send("", { model: "by-key", blob: blobs[1], task: { task: "softmax" } });
  expect([made.status, made.body.model?.teamId, made.body.model?.pricing.input]).toEqual([201, owner.teamId, 0]);
  expect((await send("/by-key/rollback", { version: 1 })).status).toBe(200);
  expect((await send("/numerals/rollback", { version: 1 })).status).toBe(403);
});

test("the built-in model answers anybody with a key, without anything trained or published", async () => {
  const client = new OpenAI({ apiKey: stranger.key, baseURL: `${system.url}/v1`, maxRetries: 0 });
  let right = 0;
  for (const { row, label } of held.slice(0, 10)) {
    const answer = await client.chat.completions.create({ model: "digits", messages: [{ role: "user", content: row }] });
    if (answer.choices[0]?.message.content === String(label)) right++;
  }
  expect(right).toBeGreaterThanOrEqual(9);
  const { body } = await call(system.url, "GET", "/api/models?search=digits");
  expect(body.data[0]).toMatchObject({
    name: "digits",
    provider: { name: "tributary" },
    trained: { task: "softmax", accuracy: 350 / 360 },
  });
});

test("a price for a call is the same whatever its length, and a call that was refused costs nothing", async () => {
  const perCall = { unit: "call", input: 7_000_000, output: 0 };
  expect((await publish(blobs[1], { model: "by-call", pricing: perCall })).status).toBe(201);
  const { row } = held[0] as (typeof held)[number];
  await within(
    1000,
    () => ask(owner.key, row, "by-call"),
    ({ status }) => status === 200,
  );
  const before = await balance(owner);
  const [good, bad] = [await ask(owner.key, row, "by-call"), await ask(owner.key, "[1]", "by-call")];
  expect([good.status, good.headers.get("x-gw-cost-nano")]).toEqual([200, "7"]);
  expect([bad.status, bad.body.error.message]).toEqual([400, expect.stringContaining("row of 1 numbers")]);
  expect(before - (await balance(owner))).toBe(7);
});
