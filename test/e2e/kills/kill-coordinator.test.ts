import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { type CountingProxy, openCountingProxy } from "../../helpers/counting-proxy.ts";
import { federationWhen, startTrainer } from "../../helpers/federations.ts";
import { type System, startSystem } from "../../helpers/system.ts";

let system: System;
let tenant: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;
const proxies: CountingProxy[] = [];

beforeAll(async () => {
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "600", COORDINATOR_POLL_MS: "50" } });
  node = await startTrainer({ TRAINER_THREADS: "2" });
  for (let index = 0; index < 3; index++) proxies.push(await openCountingProxy(node.url));
  tenant = await newTenant(system, { name: "killer", creditNano: 1_000_000_000 });
});
afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  await system?.stop();
  await node?.process.stop();
});

test("a coordinator and a control plane killed in mid-round are taken up where they were: no accepted update is asked for again", async () => {
  // The first two answer at once, the third long after: a kill in between finds two updates accepted.
  (proxies[2] as CountingProxy).delayMs = 1500;
  const created = await call(system.url, "POST", "/training/federations", {
    token: tenant.token,
    body: {
      task: { name: "softmax", config: { epochs: 1 }, dataset: { name: "digits", partition: { scheme: "iid" } } },
      rounds: 3,
      minResults: 3,
      participants: proxies.map(({ url }) => ({ url })),
      budgetNanoUsd: 1000,
    },
  });
  expect(created.status).toBe(201);
  const { id } = created.body.federation;
  const acceptedIn = async (round: number): Promise<string[]> => {
    const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
    // While the control plane is away there is no answer.
    const found = body.data?.find((entry: { round: number }) => entry.round === round);
    const accepted = (found?.participants ?? []).filter(({ state }: { state: string }) => state === "accepted");
    return accepted.map(({ participantId }: { participantId: string }) => participantId);
  };
  const callsOf = (participantId: string, round: number) => proxies[Number(participantId.slice(1)) - 1]?.calls.get(`${id}/${round}`);
  /** Updates that were accepted when something was killed, and how often each had been asked for by then. */
  const settled: { participantId: string; round: number; calls: number | undefined }[] = [];
  const killIn = async (round: number, kill: () => Promise<void>) => {
    while ((await acceptedIn(round)).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    await kill();
    for (const participantId of await acceptedIn(round)) settled.push({ participantId, round, calls: callsOf(participantId, round) });
  };
  await killIn(1, () => system.killCoordinator());
  await killIn(2, () => system.killControlPlane());
  await killIn(3, () => system.killCoordinator());

  const federation = await federationWhen(system, { token: tenant.token, id, withinMs: 60_000 });
  expect(federation).toMatchObject({ state: "completed", head: { round: 3 } });
  expect(settled.length).toBeGreaterThanOrEqual(4);
  expect(settled.map(({ participantId, round }) => ({ participantId, round, calls: callsOf(participantId, round) }))).toEqual(settled);
  const verified = await call(system.url, "GET", `/training/federations/${id}/verify`, { token: tenant.token });
  expect(verified.body).toEqual({ ok: true, rounds: 3, remade: 3, firstBad: null });
  const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
  for (const round of body.data) {
    expect(round.participants.reduce((sum: number, { reward }: { reward: number }) => sum + reward, 0)).toBe(1000);
  }
});
