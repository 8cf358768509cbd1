import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { federationWhen, startTrainer } from "../helpers/federations.ts";
import { type System, startSystem } from "../helpers/system.ts";

/** Stands before a node and counts what it is asked to train: the whole of an answer that reached the coordinator, and the rest. */
interface CountingDoor {
  readonly url: string;
  /** By round: how often it was asked, and how many answers it gave to the end. */
  readonly asked: Map<string, { calls: number; answers: number }>;
  delayMs: number;
  close(): void;
}

async function openDoor(nodeUrl: string): Promise<CountingDoor> {
  const asked: CountingDoor["asked"] = new Map();
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isTrain = request.url?.endsWith("/train") && request.method === "POST";
    const config = String(request.headers["x-train-config"] ?? "");
    const round = isTrain ? (JSON.parse(Buffer.from(config, "base64").toString()) as { round_id: string }).round_id : "";
    const count = asked.get(round) ?? { calls: 0, answers: 0 };
    if (isTrain) asked.set(round, { ...count, calls: count.calls + 1 });
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !["host", "connection", "content-length", "transfer-encoding"].includes(name)),
    ) as Record<string, string>;
    const answer = await fetch(nodeUrl + request.url, {
      method: request.method ?? "GET",
      headers,
      ...(chunks.length > 0 || request.method === "POST" ? { body: Buffer.concat(chunks) } : {}),
    });
    if (isTrain) await new Promise((resolve) => setTimeout(resolve, door.delayMs));
    const body = Buffer.from(await answer.arrayBuffer());
    const told = Object.fromEntries(
      ["content-type", "x-result"].flatMap((name) => (answer.headers.get(name) ? [[name, answer.headers.get(name) ?? ""]] : [])),
    );
    response.writeHead(answer.status, told);
    response.end(body, () => {
      const now = asked.get(round);
      if (isTrain && now) asked.set(round, { ...now, answers: now.answers + 1 });
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const door: CountingDoor = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    delayMs: 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return door;
}

let system: System;
let tenant: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;
const doors: CountingDoor[] = [];

beforeAll(async () => {
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "600", COORDINATOR_POLL_MS: "50" } });
  node = await startTrainer({ TRAINER_THREADS: "2" });
  for (let index = 0; index < 3; index++) doors.push(await openDoor(node.url));
  tenant = await newTenant(system, { name: "killer", creditNano: 1_000_000_000 });
}, 60_000);
afterAll(async () => {
  for (const door of doors) door.close();
  await system?.stop();
  await node?.process.stop();
}, 60_000);

test("a coordinator and a control plane killed in mid-round are taken up where they were: no accepted update is asked for again", async () => {
  // The first two answer at once, the third long after: a kill in between finds two updates accepted.
  (doors[2] as CountingDoor).delayMs = 1500;
  const created = await call(system.url, "POST", "/training/federations", {
    token: tenant.token,
    body: {
      task: { name: "softmax", config: { epochs: 1 }, dataset: { name: "digits", partition: { scheme: "iid" } } },
      rounds: 3,
      minResults: 3,
      participants: doors.map(({ url }) => ({ url })),
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
  const callsOf = (participantId: string, round: number) => doors[Number(participantId.slice(1)) - 1]?.asked.get(`${id}/${round}`)?.calls;
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
  expect(verified.body).toEqual({ ok: true, rounds: 3, remade: 4, firstBad: null });
  const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
  for (const round of body.data) {
    expect(round.participants.reduce((sum: number, { reward }: { reward: number }) => sum + reward, 0)).toBe(1000);
  }
}, 90_000);
