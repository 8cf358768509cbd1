import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request as httpsRequest } from "node:https";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelCredentials, credentials, ServerCredentials, status } from "@grpc/grpc-js";
import { gwWith } from "../../cli/io-fixture.ts";
import { systemClock } from "../../common/clock.ts";
import { openChannel } from "../../common/grpc/client.ts";
import { rawCall } from "../../common/grpc/every-method-fixture.ts";
import { createGrpcServer, listen, shutDown } from "../../common/grpc/server.ts";
import { silentLogger } from "../../common/logger.ts";
import type { PeerRole } from "../../common/peers/peer.ts";
import { peerFetch } from "../../common/peers/peer-fetch.ts";
import { readPeerTls } from "../../common/peers/tls.ts";
import { connectCoordinator } from "../../gateway-edge/access/clients/coordinator.ts";
import { AccessServiceService, SettleRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { createPeerCopies } from "../../trainer-node/coordinator/blobs/copies/peer-copies.ts";
import { adminToken, call, newTenant } from "../helpers/api.ts";
import { freePort, type ServiceProcess, startProcess } from "../helpers/processes.ts";
import { ADMIN_PASSWORD, MASTER_KEY } from "../helpers/system.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-hops-"));
const certs = join(folder, "certs");
const foreign = join(folder, "foreign");
const started: ServiceProcess[] = [];
let url = "";
let control = "";
let coordinatorUrl = "";
let trainerPort = 0;

/** The settings of a process with a certificate. */
const tlsOf = (name: string, out = certs) => ({
  TLS_CERT: join(out, name, "cert.pem"),
  TLS_KEY: join(out, name, "key.pem"),
  TLS_CA: join(out, name, "ca.pem"),
});
const pem = (name: string, file: string, out = certs) => readFileSync(join(out, name, `${file}.pem`));
/** gRPC credentials of a client that presents this certificate and trusts our authority. */
const clientOf = (name: string, out = certs): ChannelCredentials =>
  credentials.createSsl(pem("edge", "ca"), pem(name, "key", out), pem(name, "cert", out));
const peerTls = (name: string, role: PeerRole) => {
  const { TLS_CERT: tlsCert, TLS_KEY: tlsKey, TLS_CA: tlsCa } = tlsOf(name);
  return readPeerTls({ tlsCert, tlsKey, tlsCa }, role);
};

/** Every process has a folder of its own, so nothing but its certificate connects it to the others. */
async function start(entry: string, name: string, env: Record<string, string>): Promise<void> {
  const child = startProcess({ entry, name, env: { DATA_DIR: join(folder, name), ...tlsOf(name), ...env } });
  started.push(child);
  await child.ready;
}

beforeAll(async () => {
  const env = { HOME: folder };
  for (const out of [certs, foreign]) {
    const made = await gwWith(["admin", "certs", "--out", out, "--hosts", "127.0.0.2", "--edges", "edge-1,edge-2"], { env });
    expect([made.exit, made.err]).toEqual([0, expect.not.stringContaining("error")]);
  }
  const [port, controlPort, coordinatorPort] = [await freePort(), await freePort(), await freePort()];
  trainerPort = await freePort();
  url = `http://127.0.0.1:${port}`;
  control = `127.0.0.1:${controlPort}`;
  coordinatorUrl = `https://localhost:${coordinatorPort}`;
  const secrets = { ADMIN_PASSWORD, MASTER_KEY, BUILT_IN_MODELS: "false" };
  await start("control-plane/main.ts", "control-plane", { CONTROL_HOST: "0.0.0.0", CONTROL_PORT: String(controlPort), ...secrets });
  const client = { CONTROL_ADDRESS: control };
  await Promise.all([
    start("gateway-edge/main.ts", "edge-1", { PORT: String(port), COORDINATOR_URL: coordinatorUrl, ...client }),
    start("trainer-node/coordinator/main.ts", "coordinator", {
      COORDINATOR_HOST: "0.0.0.0",
      COORDINATOR_PORT: String(coordinatorPort),
      ...client,
    }),
    start("trainer-node/main.ts", "trainer", { TRAINER_HOST: "0.0.0.0", TRAINER_PORT: String(trainerPort), TRAINER_THREADS: "1" }),
  ]);
}, 60_000);
afterAll(async () => {
  for (const child of started.reverse()) await child.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const snapshot = AccessServiceService.getSnapshot;
const settleFor = (edgeId: string) => Buffer.from(SettleRequest.encode({ settlements: [], edgeId, returns: [], endedEdges: [] }).finish());

test("an edge with a certificate serves a paid call, end to end", async () => {
  const tenant = await newTenant({ url }, { name: "hops", creditNano: 1_000_000_000 });
  const body = { model: "echo", messages: [{ role: "user", content: "hello over TLS" }] };
  const answer = await call(url, "POST", "/v1/chat/completions", { key: tenant.key, body });
  expect([answer.status, answer.body.choices[0].message.content]).toEqual([200, "hello over TLS"]);
  // Reading money makes the edge settle first.
  const quota = await call(url, "GET", "/api/quota", { token: tenant.token });
  expect(quota.body.quota.balance).toBeLessThan(1_000_000_000);
  const system = await call(url, "GET", "/api/admin/system", { token: await adminToken({ url }) });
  expect(system.body.edges.map(({ id }: { id: string }) => id)).toEqual([expect.stringMatching(/^edge-1:edge-0-[0-9a-f]{8}$/)]);
});

test.each<[string, () => ChannelCredentials]>([
  ["without TLS", () => credentials.createInsecure()],
  ["without a certificate", () => credentials.createSsl(pem("edge", "ca"))],
  ["with a certificate of another authority", () => clientOf("edge-1", foreign)],
])("a client %s reaches no method", async (_name, security) => {
  // What is refused by each method is tested beside the server; here it is the handshake.
  const methods = [snapshot, AccessServiceService.settle, AccessServiceService.watch];
  const answers = await Promise.all(methods.map((method) => rawCall(control, method, { security: security() })));
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([status.UNAVAILABLE]));
});

test("edge 1's certificate cannot settle for edge 2: refused, and in the audit log", async () => {
  const settle = AccessServiceService.settle;
  const own = await rawCall(control, settle, { security: clientOf("edge-1"), message: settleFor("edge-1:edge-9-00000000") });
  expect(own).toEqual({ code: status.OK, details: "" });
  const refused = await rawCall(control, settle, { security: clientOf("edge-1"), message: settleFor("edge-2:edge-0-00000000") });
  expect(refused).toEqual({ code: status.PERMISSION_DENIED, details: expect.stringContaining("edge-2:edge-0-00000000") });

  const token = await adminToken({ url });
  const audit = await call(url, "GET", "/api/admin/audit?action=peer.refused", { token });
  expect(audit.body.data).toEqual([
    expect.objectContaining({
      actorKind: "system",
      target: "edge-2:edge-0-00000000",
      details: expect.objectContaining({ peer: "tributary://edge/edge-1", method: settle.path }),
    }),
  ]);
});

test("another role's certificate of the same authority opens only what that role does", async () => {
  for (const name of ["operator", "coordinator", "trainer", "control-plane"]) {
    const { code, details } = await rawCall(control, snapshot, { security: clientOf(name) });
    expect([name, code, details]).toEqual([name, status.PERMISSION_DENIED, expect.stringContaining(`role ${name}`)]);
  }
});

test("an edge does not talk to a server that is not a control plane", async () => {
  const server = createGrpcServer();
  const pair = { private_key: pem("trainer", "key"), cert_chain: pem("trainer", "cert") };
  const port = await listen(server, "127.0.0.1:0", ServerCredentials.createSsl(pem("trainer", "ca"), [pair], false));
  const channel = openChannel(`127.0.0.1:${port}`, { tls: peerTls("edge", "edge") });
  const failure = await channel
    .service(AccessServiceService)
    .getSnapshot({}, { deadlineMs: 2000 })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "UNAVAILABLE", internal: expect.stringContaining("not that of a control-plane") });
  channel.close();
  await shutDown(server, 1000);
});

const read = { deadlineMs: 5000 };
const NOBODYS = "0".repeat(64);

test("the coordinator answers edges with a certificate, and nobody without", async () => {
  const address = { coordinatorUrl, coordinatorToken: undefined };
  expect(await connectCoordinator({ ...address, tls: peerTls("edge-2", "edge") }).hasBlob(NOBODYS, read)).toBe(false);
  await expect(connectCoordinator({ ...address }).hasBlob(NOBODYS, read)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  expect(await get(`${coordinatorUrl}/v1/blobs/${NOBODYS}`, "trainer")).toBe(404);
  expect(await get(`${coordinatorUrl}/v1/federations/fed_1/verify`, "trainer")).toBe(403);
  await expect(get(`${coordinatorUrl}/v1/blobs/${NOBODYS}`, "edge-1", foreign)).rejects.toThrow();
});

test("a coordinator copies blobs to another by its certificate, and may do nothing else there; edges and trainers may not copy", async () => {
  const tls = peerTls("coordinator", "coordinator");
  const copies = createPeerCopies({
    ...{ peers: [coordinatorUrl], self: "co_test", copies: 2, lostMs: 5000, token: undefined, fetch: peerFetch(tls, "coordinator") },
    ...{ clock: systemClock, logger: silentLogger },
  });
  const path = join(folder, "blob");
  writeFileSync(path, "an update");
  const sha256 = createHash("sha256").update("an update").digest("hex");
  await copies.put({ sha256, tenant: "org_1", path, bytes: 9, origin: "made", isReferenced: false });
  const url = `${coordinatorUrl}/v1/copies/${sha256}`;
  expect(await Promise.all(["coordinator", "edge-1", "trainer"].map((name) => get(url, name)))).toEqual([200, 403, 403]);
  expect(await get(`${coordinatorUrl}/v1/federations/fed_1/verify`, "coordinator")).toBe(403);
});

test("the trainer speaks HTTPS with its certificate", async () => {
  expect(await get(`https://127.0.0.1:${trainerPort}/v1/info`, "operator")).toBe(200);
  await expect(fetch(`http://127.0.0.1:${trainerPort}/v1/info`)).rejects.toThrow();
});

const [outside] = Object.values(networkInterfaces()).flatMap((all = []) => all.filter((one) => one.family === "IPv4" && !one.internal));
if (outside === undefined) console.warn("skipped: this machine has no address beyond loopback");

(outside ? test : test.skip)("from other machines, the trainer takes the certificates of edges, coordinators and operators", async () => {
  const info = `https://${outside?.address}:${trainerPort}/v1/info`;
  const statuses = await Promise.all(["edge-1", "coordinator", "operator", "trainer"].map((name) => get(info, name)));
  expect([...statuses, await get(info, undefined), await get(info, "edge-1", foreign)]).toEqual([200, 200, 200, 403, 403, 403]);
});

/** The status of a GET that presents a certificate. */
function get(address: string, name: string | undefined, out = certs): Promise<number> {
  const own = name === undefined ? {} : { key: pem(name, "key", out), cert: pem(name, "cert", out) };
  const agent = new Agent({ ca: pem("edge", "ca"), servername: "localhost", ...own });
  return new Promise<number>((resolve, reject) => {
    httpsRequest(address, { agent }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  }).finally(() => agent.destroy());
}
