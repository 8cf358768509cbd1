import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { type CountingProxy, openCountingProxy } from "../../helpers/counting-proxy.ts";
import { federationWhen, startTrainer } from "../../helpers/federations.ts";
import { freePort, type ServiceProcess, startProcess } from "../../helpers/processes.ts";
import { type System, startSystem } from "../../helpers/system.ts";

let system: System;
let tenant: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;
let second: ServiceProcess | undefined;
let folder = "";
let control: Record<string, string> = {};
const proxies: CountingProxy[] = [];
const timing = { COORDINATOR_LEASE_MS: "600", COORDINATOR_POLL_MS: "50" };

beforeAll(async () => {
  const controlPort = String(await freePort());
  // The second coordinator has its own folder, so it cannot find the token there.
  control = { CONTROL_PORT: controlPort, CONTROL_ADDRESS: `127.0.0.1:${controlPort}`, CONTROL_TOKEN: "the-token-of-both-coordinators" };
  system = await startSystem({ coordinator: true, env: { ...timing, ...control } });
  node = await startTrainer({ TRAINER_THREADS: "2" });
  for (let index = 0; index < 2; index++) proxies.push(await openCountingProxy(node.url));
  tenant = await newTenant(system, { name: "two", creditNano: 1_000_000_000 });
  folder = mkdtempSync(join(tmpdir(), "tributary-second-coordinator-"));
});
afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  await second?.stop();
  await system?.stop();
  await node?.process.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** When the second coordinator gave a claim back, by its log. */
const releases = (id: string): number[] =>
  (second?.stderr ?? "")
    .split("\n")
    .filter((line) => line.includes("a claim was released") && line.includes(id))
    .map((line) => Date.parse((JSON.parse(line) as { time: string }).time));

test("a federation whose coordinator died waits for one that has its parameters, says so, and goes on when that one is back", async () => {
  const id = await begin();
  await federationWhen(system, { token: tenant.token, id, isDone: ({ head }) => head !== null });
  await startSecond();
  const accepted = async (): Promise<number> => {
    const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
    const open = body.data?.find(({ state }: { state: string }) => state === "training");
    return (open?.participants ?? []).filter(({ state }: { state: string }) => state === "accepted").length;
  };
  while ((await accepted()) < 1) await new Promise((resolve) => setTimeout(resolve, 20));
  await system.coordinator?.kill9();

  const look = { token: tenant.token, id, withinMs: 30_000 };
  const waiting = await federationWhen(system, { ...look, isDone: ({ state }) => state !== "running" });
  expect(waiting).toMatchObject({
    state: "waiting",
    waitingFor: expect.stringMatching(/^a coordinator that has the parameters of round \d$/),
    failure: null,
  });
  await waitUntil(() => releases(id).length >= 2);
  const [first = 0, again = 0] = releases(id);
  // It does not spin: the claim is left to others for some seconds.
  expect(again - first).toBeGreaterThanOrEqual(4_000);

  (proxies[1] as CountingProxy).delayMs = 0;
  await system.killCoordinator();
  const running = await federationWhen(system, { ...look, isDone: ({ state }) => state !== "waiting" });
  expect(running).toMatchObject({ waitingFor: null, failure: null });
  expect(await federationWhen(system, look)).toMatchObject({ state: "completed", head: { round: 8 } });
  const verified = await call(system.url, "GET", `/training/federations/${id}/verify`, { token: tenant.token });
  expect(verified.body).toEqual({ ok: true, rounds: 8, remade: 8, firstBad: null });
});

async function begin(): Promise<string> {
  (proxies[1] as CountingProxy).delayMs = 2_000;
  const task = { name: "softmax", config: { epochs: 1 }, dataset: { name: "digits", partition: { scheme: "iid" } } };
  const body = { task, rounds: 8, minResults: 2, participants: proxies.map(({ url }) => ({ url })) };
  const created = await call(system.url, "POST", "/training/federations", { token: tenant.token, body });
  expect(created.status).toBe(201);
  return created.body.federation.id;
}

/** Another coordinator of the same control plane, with a folder of its own. */
async function startSecond(): Promise<void> {
  second = startProcess({
    entry: "trainer-node/coordinator/main.ts",
    name: "second coordinator",
    env: { ...timing, ...control, DATA_DIR: folder, COORDINATOR_PORT: String(await freePort()), LOG_LEVEL: "debug" },
  });
  await second.ready;
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
}
