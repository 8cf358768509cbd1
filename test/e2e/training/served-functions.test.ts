import { resolve } from "node:path";
import { within } from "../../contract/support.ts";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startPythonParticipant, startTrainer } from "../../helpers/federations.ts";
import { type System, startSystem } from "../../helpers/system.ts";

const SECRET = "a secret of federation and node";
const PRICE = { input: 2_000_000_000, output: 5_000_000_000 };
const example = resolve(import.meta.dirname, "../../../examples/served_model.py");
const task = { name: "readings" };

let system: System;
let owner: Tenant;
let stranger: Tenant;
let nodes: Awaited<ReturnType<typeof startPythonParticipant>>[];

const startNode = (readings: string[]) =>
  startPythonParticipant({ program: [example, ...readings], env: { TRAINER_SECRET: SECRET, DATA_DIR: system.folder } });

beforeAll(async () => {
  system = await startSystem({ trainer: true, coordinator: true, env: { COORDINATOR_POLL_MS: "50" } });
  nodes = await Promise.all([startNode(["18", "20", "22"]), startNode(["20", "22", "24"])]);
  [owner, stranger] = await Promise.all([
    newTenant(system, { creditNano: 1_000_000_000 }),
    newTenant(system, { creditNano: 1_000_000_000 }),
  ]);
});
afterAll(async () => {
  await system?.stop();
  await Promise.all((nodes ?? []).map((node) => node.stop()));
});

async function trained(participants: object[], settings: object = {}): Promise<{ id: string; blob: string }> {
  const body = { rounds: 2, task, participants, ...settings };
  const { body: created, status, text } = await call(system.url, "POST", "/training/federations", { token: owner.token, body });
  expect([status, status === 201 ? "" : text]).toEqual([201, ""]);
  const { id } = created.federation;
  const federation = await federationWhen(system, { token: owner.token, id });
  expect(federation).toMatchObject({ state: "completed", failure: null });
  return { id, blob: federation.head.parameters };
}

const publish = (id: string, body: object, { token } = owner) =>
  call(system.url, "POST", `/training/federations/${id}/publish`, { token, body });
const ask = (content: string, { key } = owner, more: object = {}) =>
  call(system.url, "POST", "/v1/chat/completions", { key, body: { model: "readings", messages: [{ role: "user", content }], ...more } });
const balance = () => call(system.url, "GET", "/api/balance", { token: owner.token });

test("a federation of Python functions is published, called under a key, answered by its nodes with signed calls, and billed", async () => {
  const participants = nodes.map(({ url }) => ({ url, secret: SECRET }));
  const { id, blob } = await trained(participants);

  const published = await publish(id, { model: "readings", pricing: PRICE });
  expect([published.status, published.body.version]).toMatchObject([201, { servedBy: ["p1", "p2"], task: { task: "function" } }]);
  expect(published.body.model).toMatchObject({ type: "chat", visibility: "organization" });
  const first = await within(
    3000,
    () => ask("26"),
    ({ status }) => status === 200,
  );
  // The rounds averaged 20 and 22 to 21, and the spread is that of both nodes: 4/3.
  expect(JSON.parse(first.body.choices[0].message.content)).toEqual({ reading: 26, deviations: 3.75 });

  const { balance: before } = (await balance()).body;
  const { body } = await ask("26");
  const output = Buffer.byteLength(body.choices[0].message.content);
  expect(body.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: output });
  const price = Math.ceil((2 * PRICE.input + output * PRICE.output) / 1_000_000);
  await within(5000, balance, ({ body: now }) => before - now.balance === price);

  const streamed = await ask("26", owner, { stream: true });
  expect([streamed.status, streamed.text]).toEqual([200, expect.stringContaining("deviations")]);
  const refused = await ask("warm");
  expect([refused.status, refused.body.error.message]).toEqual([
    400,
    expect.stringContaining("Send one number as the text of the message."),
  ]);
  const cut = await ask("26", owner, { max_tokens: 5 });
  expect([cut.body.choices[0].message.content, cut.body.choices[0].finish_reason]).toEqual(['{"rea', "length"]);
  const moderated = await call(system.url, "POST", "/v1/moderations", { key: owner.key, body: { model: "readings", input: "26" } });
  expect(moderated.status).toBe(400);

  // Another organization has no such model, and can publish neither the federation nor a function without it.
  expect((await ask("26", stranger)).status).toBe(404);
  expect((await publish(id, { model: "theirs" }, stranger)).status).toBe(404);

  const withoutNodes = { model: "none", blob, task: { task: "function" } };
  const direct = await call(system.url, "POST", "/training/models", { token: owner.token, body: withoutNodes });
  expect([direct.status, direct.text]).toEqual([400, expect.stringContaining("publish the federation")]);

  // While a node is away the other one answers.
  await nodes[0]?.stop();
  for (let count = 0; count < 2; count++) expect((await ask("26")).status).toBe(200);
  await nodes[1]?.stop();
  const gone = await ask("26");
  expect([gone.status, gone.text]).toEqual([503, expect.not.stringContaining("127.0.0.1")]);
});

test("a federation whose nodes cannot serve is not published, and the answer says why of each", async () => {
  const trainer = await startTrainer();
  try {
    const { id } = await trained([{ url: trainer.url }, { join: true }], {
      ...{ rounds: 1, minResults: 1, deadlineMs: 500, startDeadlineMs: 500 },
      task: { name: "softmax", dataset: { name: "digits", classes: [0, 1] } },
    });
    const named = await publish(id, { model: "theirs", servedBy: ["p1", "p2", "p9"] });
    expect(named.status).toBe(400);
    expect(named.text).toContain("p1: its node has no serve function");
    expect(named.text).toContain("p2: it joined with a token");
    expect(named.text).toContain("p9: the federation has no such participant");
    // A built-in task is served by the operator's nodes, as before.
    expect((await publish(id, { model: "built-in" })).body.version).toMatchObject({ servedBy: [], task: { task: "softmax" } });
  } finally {
    await trainer.process.stop();
  }
});
