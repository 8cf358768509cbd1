import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, newTenant, type Tenant } from "../../helpers/api.ts";
import { type CountingProxy, openCountingProxy } from "../../helpers/counting-proxy.ts";
import { federationWhen, startTrainer } from "../../helpers/federations.ts";
import { freePort, type ServiceProcess, startProcess } from "../../helpers/processes.ts";
import { type S3Server, startS3Server } from "../../helpers/s3-server.ts";
import { COORDINATOR_TOKEN, type System, startSystem } from "../../helpers/system.ts";

const ROUNDS = 4;
let system: System;
let tenant: Tenant;
let node: Awaited<ReturnType<typeof startTrainer>>;
let slow: CountingProxy;
let s3: S3Server;
let control: Record<string, string> = {};

beforeAll(async () => {
  const controlPort = String(await freePort());
  control = { CONTROL_PORT: controlPort, CONTROL_ADDRESS: `127.0.0.1:${controlPort}`, CONTROL_TOKEN: "the-token-of-both-coordinators" };
  // The edges' COORDINATOR_URL is an address where no coordinator listens: they have to ask the holder.
  [system, node, s3] = await Promise.all([startSystem({ env: control }), startTrainer({ TRAINER_THREADS: "2" }), startS3Server()]);
  slow = await openCountingProxy(node.url);
  tenant = await newTenant(system, { name: "lost", creditNano: 1_000_000_000 });
});
afterAll(async () => {
  slow?.close();
  await Promise.all([system?.stop(), node?.process.stop(), s3?.stop()]);
});

interface Host {
  readonly folder: string;
  readonly process: ServiceProcess;
}

async function startHost(port: number, env: Record<string, string>): Promise<Host> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-coordinator-host-"));
  const process = startProcess({
    entry: "trainer-node/coordinator/main.ts",
    name: `coordinator ${port}`,
    env: {
      ...control,
      ...env,
      ...{ DATA_DIR: folder, COORDINATOR_PORT: String(port), COORDINATOR_TOKEN },
      ...{ COORDINATOR_LEASE_MS: "600", COORDINATOR_POLL_MS: "50", COORDINATOR_PEER_LOST_MS: "1000" },
    },
  });
  await process.ready;
  return { folder, process };
}

const inBucket = (): Record<string, string> => ({
  BLOBS_S3_BUCKET: s3.bucket,
  BLOBS_S3_ENDPOINT: s3.endpoint,
  BLOBS_S3_PREFIX: "training/",
  AWS_ACCESS_KEY_ID: s3.keys.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.keys.secretAccessKey,
});
const asPeers = (other: number): Record<string, string> => ({ COORDINATOR_PEERS: `http://127.0.0.1:${other}` });

test.each([
  ["the other one has copies", asPeers],
  ["its blobs are in a bucket", inBucket],
])("a coordinator's host that is lost in mid-round costs no round: %s", async (_how, copies) => {
  const ports = [await freePort(), await freePort()] as const;
  const hosts = [await startHost(ports[0], copies(ports[1])), await startHost(ports[1], copies(ports[0]))];
  try {
    slow.delayMs = 1500;
    const id = await begin();
    await untilAccepted(id);
    const holder = hosts.find(({ process }) => process.stderr.split("\n").some((line) => line.includes("round done") && line.includes(id)));
    expect(holder).toBeDefined();
    await holder?.process.kill9();
    rmSync(holder?.folder ?? "", { recursive: true, force: true });
    slow.delayMs = 0;

    const completed = await federationWhen(system, { token: tenant.token, id, withinMs: 60_000 });
    expect(completed).toMatchObject({ state: "completed", head: { round: ROUNDS }, failure: null });
    const verified = await call(system.url, "GET", `/training/federations/${id}/verify`, { token: tenant.token });
    expect(verified.body).toEqual({ ok: true, rounds: ROUNDS, remade: ROUNDS, firstBad: null });
    const headers = { authorization: `Bearer ${tenant.token}` };
    const file = await fetch(`${system.url}/training/federations/${id}/parameters`, { headers });
    expect([file.status, (await file.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  } finally {
    await Promise.all(hosts.map(({ process }) => process.kill9()));
    for (const { folder } of hosts) rmSync(folder, { recursive: true, force: true });
  }
});

async function begin(): Promise<string> {
  const task = { name: "softmax", config: { epochs: 1 }, dataset: { name: "digits", partition: { scheme: "iid" } } };
  const body = { task, rounds: ROUNDS, minResults: 2, participants: [{ url: node.url }, { url: slow.url }] };
  const created = await call(system.url, "POST", "/training/federations", { token: tenant.token, body });
  expect(created.status).toBe(201);
  return created.body.federation.id;
}

/** Waits until the second round or a later one has the update of one participant and waits for the slow one. */
async function untilAccepted(id: string): Promise<void> {
  for (;;) {
    const { body } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token: tenant.token });
    const open = body.data?.find(({ state, round }: { state: string; round: number }) => state === "training" && round > 1);
    const accepted = (open?.participants ?? []).filter(({ state }: { state: string }) => state === "accepted");
    if (accepted.length === 1) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
