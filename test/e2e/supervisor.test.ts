import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { call } from "../helpers/api.ts";
import { freePort } from "../helpers/processes.ts";
import { printLine } from "./ledger-checks.ts";

const run = promisify(execFile);
const READY_MS_MAX = 30_000;
const LATER_START_MS_MAX = 6_000;
const BACK_MS_MAX = 15_000;

const folder = mkdtempSync(join(tmpdir(), "tributary-supervisor-"));
const env: Record<string, string> = { PATH: process.env["PATH"] ?? "", HOME: folder, DATA_DIR: join(folder, "data"), EDGES: "2" };
const started: Supervisor[] = [];

interface Supervisor {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly closed: Promise<unknown[]>;
  output(): string;
}

function startSupervisor(more: Record<string, string> = {}): Supervisor {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, "../../scripts/run.ts")], { env: { ...env, ...more }, cwd: folder });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += chunk;
    });
  }
  const supervisor = { child, pid: child.pid ?? 0, closed: once(child, "close"), output: () => text };
  started.push(supervisor);
  return supervisor;
}

async function until<T>(what: string, limitMs: number, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = performance.now() + limitMs;
  while (performance.now() < deadline) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error(`${what} did not happen within ${limitMs} ms`);
}

const untilReady = (supervisor: Supervisor) =>
  until(`the ready block: ${supervisor.output()}`, READY_MS_MAX, () =>
    /^Tributary is ready/m.test(supervisor.output()) ? true : undefined,
  );

/** The children that live now, by the title each gives itself. */
function childrenOf(pid: number): { pid: number; title: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        if (Number(parent) !== pid || state === "Z") return [];
        return [{ pid: Number(name), title: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim() }];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}

const printedAfter = (output: string, label: string) => new RegExp(`^ {2}${label} +(\\S+)$`, "m").exec(output)?.[1] ?? "";
const curlLine = (output: string) => /^ {2}(curl .*)$/m.exec(output)?.[1] ?? "";

// New ports for each test that needs none of the ones before: a failure in one must not be the failure of the next.
async function freePorts(): Promise<Record<string, string>> {
  const ports = await Promise.all(
    ["PORT", "TRAINER_PORT", "CONTROL_PORT", "COORDINATOR_PORT"].map(async (name) => [name, String(await freePort())]),
  );
  return Object.fromEntries(ports);
}

beforeAll(async () => {
  Object.assign(env, await freePorts());
});
afterAll(async () => {
  for (const { child, closed } of started) {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await closed;
  }
  rmSync(folder, { recursive: true, force: true });
});

describe("make run", () => {
  let first: { supervisor: Supervisor; password: string; masterKey: string };
  let token: string;
  const url = () => `http://127.0.0.1:${env["PORT"]}`;

  test("the first start prints, once, secrets that work and a call that works as it stands", async () => {
    const startedAt = performance.now();
    const supervisor = startSupervisor();
    await untilReady(supervisor);
    printLine(`make run: first start ready after ${Math.round(performance.now() - startedAt)} ms`);
    await sleep(200);
    const output = supervisor.output();
    expect(output.match(/Tributary is ready/g)).toHaveLength(1);
    const email = printedAfter(output, "admin email");
    first = { supervisor, password: printedAfter(output, "admin password"), masterKey: printedAfter(output, "master key") };
    expect({ email, ...first }).toMatchObject({ email: "admin@localhost", masterKey: expect.stringMatching(/^sk-.{20}/) });
    for (const label of ["admin email", "admin password", "master key"]) expect(output.split(label)).toHaveLength(2);

    const { stdout } = await run("bash", ["-c", curlLine(output)], { env: { PATH: env["PATH"] } });
    expect(JSON.parse(stdout).choices[0].message.content).toBe("hello");
    const session = await call(url(), "POST", "/api/auth/token", { body: { email, password: first.password } });
    expect(session.status).toBe(200);
    token = session.body.token;
    for (const path of ["/health", "/api/admin/users", "/api/admin/ledger/verify"]) {
      expect({ path, status: (await call(url(), "GET", path, { key: first.masterKey })).status }).toEqual({ path, status: 200 });
      expect({ path, status: (await call(url(), "GET", path, { key: `${first.masterKey}x` })).status }).toEqual({ path, status: 401 });
    }
  });

  test("the trainer's port is open on this machine, but shows nothing that came through the gateway", async () => {
    const trainer = `http://127.0.0.1:${env["TRAINER_PORT"]}`;
    const me = await call(url(), "GET", "/api/auth/me", { token });
    const bytes = "parameters of the admin's organization";
    const path = `/v1/blobs/${createHash("sha256").update(bytes).digest("hex")}`;
    expect((await call(url(), "PUT", `/training/nodes/node_local${path}`, { token, body: bytes })).status).toBe(201);
    expect((await call(url(), "GET", `/training/nodes/node_local${path}`, { token })).status).toBe(200);
    for (const headers of [{}, { "x-gw-tenant": String(me.body.organization.id) }]) {
      const trained = await call(trainer, "POST", "/train", { body: { dataset: [{ a: 0, label: 0 }] }, headers });
      expect(trained.status).toBe(200);
      expect((await call(trainer, "GET", path, { headers })).status).toBe(404);
      expect((await call(trainer, "DELETE", path, { headers })).status).toBe(404);
    }
  });

  test("every child that is killed comes back and serves, and nothing acknowledged is lost", async () => {
    const { pid } = first.supervisor;
    const titles = () =>
      childrenOf(pid)
        .map(({ title }) => title)
        .toSorted();
    // The coordinator starts last, and the supervisor does not wait for it.
    for (let tries = 0; tries < 50 && !titles().includes("tributary coordinator"); tries++) await sleep(200);
    const kinds = ["control-plane", "coordinator", "edge", "edge", "trainer"];
    expect(titles()).toEqual(kinds.map((kind) => `tributary ${kind}`));
    const names: string[] = [];
    let bought = 0;
    for (const [index, victim] of childrenOf(pid).entries()) {
      const name = `team ${index}`;
      expect((await call(url(), "POST", "/api/gw/teams", { token, body: { name } })).status).toBe(201);
      expect((await call(url(), "POST", "/api/credits/purchase", { token, body: { amount: 1_000, method: "test" } })).status).toBe(201);
      names.push(name);
      bought += 1_000;

      const startedAt = performance.now();
      process.kill(victim.pid, "SIGKILL");
      await until(`a new ${victim.title}`, BACK_MS_MAX, () => {
        const now = childrenOf(pid);
        const isBack = now.length === kinds.length && !now.some((child) => child.pid === victim.pid);
        return isBack && now.every(({ title }) => title.startsWith("tributary ")) ? true : undefined;
      });
      await until(`${victim.title} serving`, BACK_MS_MAX, serves);
      printLine(`make run: ${victim.title} killed, serving again after ${Math.round(performance.now() - startedAt)} ms`);
    }
    const teams = await call(url(), "GET", "/api/gw/teams?pageSize=100", { token });
    expect(teams.body.data.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(names));
    const quota = await call(url(), "GET", "/api/quota", { token });
    expect(quota.body.quota.totalPurchased).toBe(bought);
    expect((await call(url(), "GET", "/api/admin/ledger/verify", { token })).body).toMatchObject({ ok: true, firstBad: null });
  });

  /** A paid call, a management read and the trainer, several times: new connections may reach either edge. */
  async function serves(): Promise<true | undefined> {
    try {
      for (let attempt = 0; attempt < 6; attempt++) {
        const headers = { connection: "close" };
        const body = { model: "echo", messages: [{ role: "user", content: "hello" }] };
        const paid = await call(url(), "POST", "/v1/chat/completions", { key: first.masterKey, headers, body });
        const read = await call(url(), "GET", "/api/auth/me", { token, headers });
        if (paid.status !== 200 || read.status !== 200) return undefined;
      }
      const trainer = await call(`http://127.0.0.1:${env["TRAINER_PORT"]}`, "GET", "/ready");
      return trainer.status === 200 ? true : undefined;
    } catch {
      return undefined;
    }
  }

  test("SIGTERM ends it with 0 and leaves no child behind", async () => {
    const { supervisor } = first;
    const pids = childrenOf(supervisor.pid).map((child) => child.pid);
    const startedAt = performance.now();
    supervisor.child.kill("SIGTERM");
    expect(await supervisor.closed).toEqual([0, null]);
    printLine(`make run: stopped after ${Math.round(performance.now() - startedAt)} ms`);
    expect(pids).toHaveLength(5);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("a later start is quick, shows no secret, and everything is still there", async () => {
    const startsMs: number[] = [];
    // Other tests run beside this one: the best of five counts, and every one must be right.
    while (startsMs.length < 5 && !startsMs.some((tookMs) => tookMs < LATER_START_MS_MAX)) {
      const startedAt = performance.now();
      const supervisor = startSupervisor();
      await untilReady(supervisor);
      startsMs.push(Math.round(performance.now() - startedAt));
      try {
        await checkLaterStart(supervisor.output());
      } finally {
        supervisor.child.kill("SIGTERM");
        expect(await supervisor.closed).toEqual([0, null]);
      }
    }
    printLine(`make run: later start ready after ${startsMs.join(", ")} ms`);
    expect(Math.min(...startsMs)).toBeLessThan(LATER_START_MS_MAX);
  });

  async function checkLaterStart(output: string): Promise<void> {
    for (const secret of [first.password, first.masterKey]) expect(output).not.toContain(secret);
    expect(output).not.toMatch(/sk-[A-Za-z0-9]{8}/);
    const { stdout } = await run("bash", ["-c", curlLine(output)], { env: { PATH: env["PATH"], TRIBUTARY_KEY: first.masterKey } });
    expect(JSON.parse(stdout).choices[0].message.content).toBe("hello");
    const teams = await call(url(), "GET", "/api/gw/teams?pageSize=100", { token });
    expect(teams.body.data).toHaveLength(6);
  }
});

test("a wrong configuration is refused with 78, every problem at once, the children's too", async () => {
  const own = startSupervisor({ PORT: "seventy", EDGES: "0" });
  expect(await own.closed).toEqual([78, null]);
  expect(own.output()).toMatch(/PORT:/);
  expect(own.output()).toMatch(/EDGES:/);

  const childs = startSupervisor({
    ...(await freePorts()),
    DATA_DIR: join(folder, "other"),
    ADMIN_PASSWORD: "short",
    CREDIT_POLICY: "generous",
  });
  expect(await childs.closed).toEqual([78, null]);
  expect(childs.output()).toMatch(/ADMIN_PASSWORD:/);
  expect(childs.output()).toMatch(/CREDIT_POLICY:/);
});

test("a taken port is named with its variable", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  const supervisor = startSupervisor({ ...(await freePorts()), TRAINER_PORT: port });
  const ending = await supervisor.closed;
  server.close();
  expect(ending).toEqual([78, null]);
  expect(supervisor.output()).toContain(`TRAINER_PORT: port ${port} on 127.0.0.1 is taken`);
});
