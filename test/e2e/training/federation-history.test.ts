import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openEmbeddedStore } from "../../../control-plane/stores/embedded/store.ts";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { federationWhen, startTrainer } from "../../helpers/federations.ts";
import { COORDINATOR_TOKEN, type System, startSystem } from "../../helpers/system.ts";
import { printLine } from "../ledger-checks.ts";

let system: System;
let tenant: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;
let id: string;

beforeAll(async () => {
  const env = { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50", COORDINATOR_SWEEP_MS: "100" };
  system = await startSystem({ coordinator: true, env });
  node = await startTrainer();
  tenant = await newTenant(system, { name: "history" });
  const created = await ask("POST", "", {
    task: { name: "softmax", config: { epochs: 1 }, dataset: { name: "digits", partition: { scheme: "iid" } } },
    rounds: 4,
    strategy: { name: "fedavgm" },
    participants: [{ url: node.url }, { url: node.url }],
  });
  id = created.body.federation.id;
  await federationWhen(system, { token: tenant.token, id });
});
afterAll(async () => {
  await system?.stop();
  await node?.process.stop();
});

const ask = (method: string, path: string, body?: unknown) =>
  call(system.url, method, `/training/federations${path}`, { token: tenant.token, ...(body === undefined ? {} : { body }) });

/** Asked again while a control plane that was just started is not found yet. */
async function verified() {
  for (const until = Date.now() + 15_000; ; ) {
    const answer = await ask("GET", `/${id}/verify`);
    if (answer.status === 200) return answer.body;
    if (answer.status < 500 || Date.now() > until) throw new Error(`${answer.status}: ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const blobs = () => join(system.folder, "coordinator-blobs");

test("the coordinator's port answers only requests with its token", async () => {
  const { body } = await ask("GET", `/${id}`);
  const path = `/v1/blobs/${body.federation.head.parameters}`;
  for (const headers of [{}, { authorization: "Bearer of-something-else" }]) {
    for (const other of [path, `/v1/federations/${id}/verify`, "/v1/tasks/fed/p1"]) {
      expect((await fetch(system.coordinatorUrl + other, { headers })).status).toBe(401);
    }
  }
  expect((await fetch(`${system.coordinatorUrl}/health`)).status).toBe(200);
  const answer = await fetch(system.coordinatorUrl + path, { headers: { authorization: `Bearer ${COORDINATOR_TOKEN}` } });
  expect(
    createHash("sha256")
      .update(await answer.bytes())
      .digest("hex"),
  ).toBe(body.federation.head.parameters);
});

test("blobs that nothing refers to are removed after an hour; all that a history is made of stays, however old", async () => {
  const orphan = "ab".repeat(32);
  writeFileSync(join(blobs(), orphan), "of a round that never was");
  const before = readdirSync(blobs()).filter((name) => name !== orphan);
  const old = new Date(Date.now() - 7_200_000);
  for (const name of [orphan, ...before]) utimesSync(join(blobs(), name), old, old);
  const until = Date.now() + 10_000;
  while (existsSync(join(blobs(), orphan)) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(existsSync(join(blobs(), orphan))).toBe(false);
  // Two updates and a result in each round, and what the strategy remembers from the second on.
  expect(readdirSync(blobs()).length).toBeGreaterThanOrEqual(4 * 3 + 3);
  expect(await verified()).toEqual({ ok: true, rounds: 4, remade: 4, firstBad: null });
});

test("what has no parameters any more is not published", async () => {
  const { body } = await ask("GET", `/${id}/rounds`);
  const path = join(blobs(), body.data[2].parameters);
  renameSync(path, `${path}.away`);
  const refused = await ask("POST", `/${id}/publish`, { model: "gone", round: 3 });
  expect(refused).toMatchObject({ status: 404, body: { code: "NOT_FOUND", details: [{ path: "body.round" }] } });
  renameSync(`${path}.away`, path);
  expect((await ask("POST", `/${id}/publish`, { model: "here", round: 3 })).status).toBe(201);
});

test("one flipped byte, of an update or of a stored record, is found by verify, which names the round", async () => {
  expect(await verified()).toMatchObject({ ok: true, firstBad: null });
  const { body } = await ask("GET", `/${id}/rounds`);
  const update = join(blobs(), body.data[1].participants[0].update);
  flipFile(update, 500);
  const found = await verified();
  expect(found).toMatchObject({ ok: false, rounds: 4, remade: 1, firstBad: { round: 2, reason: expect.stringContaining("an update") } });
  printLine(
    `verify: good on ${found.rounds} rounds; one byte of an update flipped: round ${found.firstBad.round}, ${found.firstBad.reason}`,
  );
  flipFile(update, 500);
  expect(await verified()).toMatchObject({ ok: true });

  const text = JSON.stringify(body.data[2].record);
  const flips: Record<string, RegExp> = { "a hash": /"result":"/, "the JSON itself": /"updates":/ };
  for (const [what, place] of Object.entries(flips)) {
    const at = (place.exec(text)?.index ?? 0) + place.source.length;
    const undo = await flipRecord(3, at);
    const broken = await verified();
    expect({ what, ...broken }).toMatchObject({ what, ok: false, firstBad: { round: 3 } });
    printLine(`verify: one byte of a record flipped (${what}): round ${broken.firstBad.round}, ${broken.firstBad.reason}`);
    await undo();
  }
  expect(await verified()).toMatchObject({ ok: true, remade: 4 });
});

function flipFile(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(path, bytes);
}

/** Changes the control plane's own store while no other process has it open. */
async function flipRecord(round: number, at: number): Promise<() => Promise<void>> {
  const change = async () =>
    system.killControlPlane(async () => {
      const store = openEmbeddedStore(join(system.folder, "control-plane"));
      await store.transaction("every", async (tx) => {
        const found = await tx.get("trainingRounds", `${id}/${String(round).padStart(9, "0")}`);
        if (!found) throw new Error("no such round");
        const bytes = Buffer.from(found.record);
        bytes[at] = (bytes[at] as number) ^ 1;
        await tx.put("trainingRounds", { ...found, record: bytes.toString("utf8") });
      });
      await store.close();
    });
  await change();
  return change;
}
