import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort, startProcess } from "../helpers/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-listening-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRETS = { SECRET_KEY: "s".repeat(32), ADMIN_PASSWORD: "a password of the test", MASTER_KEY: "sk-master-key-of-the-test" };
const OWN_ADDRESSES = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
const TOKEN = "a-token-of-16-or-more";

interface Start {
  readonly entry: string;
  readonly env: Record<string, string>;
}

/** Starts the real process; what it says when it refuses, or "ready". */
async function start({ entry, env }: Start) {
  const child = startProcess({ entry, name: entry, env: { DATA_DIR: mkdtempSync(join(folder, "data-")), ...env } });
  const outcome = await Promise.race([child.ready.then(() => "ready" as const), child.exited]).catch(() => child.exited);
  if (outcome === "ready") await child.stop();
  return outcome === "ready" ? { code: 0, text: "ready" } : { code: outcome.code, text: child.stderr };
}

const CONTROL = "control-plane/main.ts";
const EDGE = "gateway-edge/main.ts";
const TRAINER = "trainer-node/main.ts";
const COORDINATOR = "trainer-node/coordinator/main.ts";

test.each([
  [CONTROL, { CONTROL_PORT: "0", CONTROL_HOST: "0.0.0.0" }, "gw admin certs"],
  [CONTROL, { CONTROL_PORT: "0", CONTROL_HOST: "0.0.0.0", CONTROL_TOKEN: TOKEN, NODE_ENV: "production", ...SECRETS }, "gw admin certs"],
  [EDGE, { PORT: "0", CONTROL_ADDRESS: "control.example.org:4100" }, "gw admin certs"],
  [TRAINER, { TRAINER_PORT: "0", HOST: "0.0.0.0" }, "TRAINER_TOKEN or TRAINER_SECRET"],
  [TRAINER, { TRAINER_PORT: "0", TRAINER_HOST: "0.0.0.0", TRAINER_AUTH: "none" }, "TRAINER_TOKEN or TRAINER_SECRET"],
  [COORDINATOR, { COORDINATOR_PORT: "0", HOST: "0.0.0.0" }, "gw admin certs"],
  [COORDINATOR, { COORDINATOR_PORT: "0", HOST: "0.0.0.0", COORDINATOR_TOKEN: TOKEN }, "gw admin certs"],
  [COORDINATOR, { COORDINATOR_PORT: "0", CONTROL_ADDRESS: "10.0.0.7:4100" }, "gw admin certs"],
] as const)("%s refuses to go beyond loopback with %j, and says how to do it", async (entry, env, advice) => {
  const refused = await start({ entry, env });
  expect(refused).toEqual({ code: 78, text: expect.stringContaining(advice) });
});

test.each([CONTROL, TRAINER, COORDINATOR, EDGE, "scripts/run.ts"])(
  "%s refuses to start exposed with unverified certificates",
  async (entry) => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0", TRUST_PROXY: "10.0.0.1" };
    expect(await start({ entry, env })).toEqual({ code: 78, text: expect.stringContaining("NODE_TLS_REJECT_UNAUTHORIZED: must not be 0") });
  },
);

test.each([
  [CONTROL, { CONTROL_PORT: "0", CONTROL_HOST: "127.0.0.2" }],
  // Some containers have no IPv6 at all.
  ...(OWN_ADDRESSES.includes("::1") ? [[CONTROL, { CONTROL_PORT: "0", CONTROL_HOST: "::1" }] as const] : []),
  [TRAINER, { TRAINER_PORT: "0", TRAINER_HOST: "127.0.0.3", HOST: "0.0.0.0", TRAINER_THREADS: "1" }],
  [TRAINER, { TRAINER_PORT: "0", HOST: "0.0.0.0", TRAINER_TOKEN: TOKEN, TRAINER_THREADS: "1" }],
  [TRAINER, { TRAINER_PORT: "0", HOST: "0.0.0.0", TRAINER_SECRET: TOKEN, TRAINER_THREADS: "1" }],
  [COORDINATOR, { COORDINATOR_PORT: "0", COORDINATOR_HOST: "127.0.0.2", HOST: "0.0.0.0" }],
] as const)("%s starts with %j", async (entry, env) => {
  expect(await start({ entry, env })).toEqual({ code: 0, text: "ready" });
});

/** The supervisor, until it has ended or said that all is ready. */
async function supervise(more: Record<string, string>) {
  const ports = { PORT: "", TRAINER_PORT: "", CONTROL_PORT: "", COORDINATOR_PORT: "" };
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = String(await freePort());
  const child = spawn(process.execPath, [resolve(import.meta.dirname, "../../scripts/run.ts")], {
    env: { PATH: process.env["PATH"], HOME: folder, DATA_DIR: mkdtempSync(join(folder, "run-")), EDGES: "1", ...ports, ...more },
  });
  let text = "";
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += chunk;
      if (text.includes("Tributary is ready")) isReady();
    });
  }
  const closed = once(child, "close");
  await Promise.race([ready, closed]);
  child.kill("SIGTERM");
  const [code] = await closed;
  return { code, text, ports };
}

test("through the supervisor a control plane beyond loopback is refused likewise", async () => {
  const { code, text } = await supervise({ CONTROL_HOST: "0.0.0.0", NODE_ENV: "production", ...SECRETS });
  expect([code, text]).toEqual([78, expect.stringContaining("CONTROL_HOST: must be a loopback address")]);
});

test("make run with HOST=0.0.0.0 keeps trainer and coordinator on loopback, and warns", async () => {
  const { code, text, ports } = await supervise({ HOST: "0.0.0.0" });
  expect([code, text]).toEqual([0, expect.stringContaining(`participant API        http://127.0.0.1:${ports.TRAINER_PORT}`)]);
  expect(text).toContain("WARNING: HOST is 0.0.0.0 and NODE_ENV is not production");
});
