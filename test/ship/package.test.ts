import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildPackage } from "../../scripts/package/build-package.ts";
import { buildWheel } from "../../scripts/package/build-wheel.ts";
import { packageFiles } from "../../scripts/package/package-files.ts";
import { call, newTenant } from "../helpers/api.ts";
import { federationWhen, startPythonParticipant } from "../helpers/federations.ts";
import { freePort } from "../helpers/processes.ts";
import { ADMIN_PASSWORD, MASTER_KEY } from "../helpers/system.ts";
import { firstCall, untilReady } from "./first-call.ts";

const run = promisify(execFile);
const root = resolve(__dirname, "../..");
const python = process.env["TEST_PYTHON"];
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

let clean: string;
let installed: string;
let url: string;
let platform: ChildProcess;

beforeAll(async () => {
  clean = mkdtempSync(join(tmpdir(), "tributary-package-"));
  installed = installPackage(join(clean, "node_modules"));
  [url, platform] = await startPlatform();
});
afterAll(async () => {
  if (platform !== undefined) {
    const ended = once(platform, "exit");
    platform.kill("SIGTERM");
    await ended;
  }
  rmSync(clean, { recursive: true, force: true });
});

/** The package as `npm install` leaves it, below node_modules, where Node strips no types; its libraries are those of this repository. */
function installPackage(modules: string): string {
  const folder = join(modules, "tributary");
  buildPackage(root, folder);
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { dependencies: Record<string, string> };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(join(modules, name, ".."), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  return folder;
}

async function startPlatform(): Promise<[string, ChildProcess]> {
  const [port, control, trainer, coordinator] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const ports = { PORT: port, CONTROL_PORT: control, TRAINER_PORT: trainer, COORDINATOR_PORT: coordinator, EDGES: 1 };
  const texts = Object.entries(ports).map(([name, value]) => [name, String(value)]);
  const child = spawn(process.execPath, [join(installed, "scripts/tributary.js")], {
    cwd: clean,
    env: {
      ...Object.fromEntries(texts),
      PATH: process.env["PATH"],
      HOME: clean,
      MASTER_KEY,
      ADMIN_PASSWORD,
      COORDINATOR_POLL_MS: "50",
      NODE_COMPILE_CACHE: join(root, ".cache/compiled"),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  await untilReady(`http://127.0.0.1:${port}`, child);
  return [`http://127.0.0.1:${port}`, child];
}

/** A participant that listens nowhere: it asks the gateway for work. */
function joinBehindNat(own: string, token: string): ChildProcess {
  const env = { PATH: process.env["PATH"], TRAINER_JOIN_URL: url, TRAINER_JOIN_TOKEN: token, DATA_DIR: join(clean, "joined") };
  return spawn(own, [join(root, "test/helpers/python-participant.py")], { env, stdio: "ignore" });
}

const textOf = (path: string): string => readFileSync(join(installed, path), "utf8");

test("the package has compiled programs, everything that is generated, and no test", () => {
  const files = packageFiles(root);
  expect(files).toContain("proto/gen/tributary/ledger/v1/ledger.ts");
  expect(files).toContain("console/dist/index.html");
  // The guides, where they are built, are in a folder of their generator.
  const named = files.map((path) => path.replace("docs/.vitepress/dist/", "site/"));
  expect(named.filter((path) => /\.test\.ts$|__fixtures__|\/\./.test(path))).toEqual([]);
  const shipped = readdirSync(installed, { recursive: true, encoding: "utf8" });
  expect(shipped.filter((path) => path.endsWith(".ts"))).toEqual([]);
  const unresolved = shipped.filter((path) => path.endsWith(".js") && /(from|import\() ?"\.[^"]*\.ts"/.test(textOf(path)));
  expect(unresolved).toEqual([]);
});

test("tributary, gw and the Python SDK have the version of package.json, and a role that does not exist is refused", async () => {
  const tributary = (word: string) => run(process.execPath, [join(installed, "scripts/tributary.js"), word]);
  expect((await tributary("--version")).stdout.trim()).toBe(version);
  expect((await run(process.execPath, [join(installed, "cli/main.js"), "--version"])).stdout.trim()).toBe(version);
  expect(readFileSync(join(root, "sdk/python/src/tributary_participant/version.py"), "utf8")).toBe(`VERSION = "${version}"\n`);
  await expect(tributary("toaster")).rejects.toMatchObject({ code: 64, stderr: expect.stringContaining("there is no toaster") });
});

test("the installed package starts the platform in a clean folder and answers the first call", async () => {
  expect(await firstCall(url, MASTER_KEY)).toBe("hello");
  for (const path of ["/ui/", "/docs", "/llms.txt", "/api/agents/skill"]) expect((await fetch(url + path)).status).toBe(200);
});

test("tributary health is 0 for a ready process and 1 where none listens", async () => {
  const health = (port: string) => run(process.execPath, [join(installed, "scripts/tributary.js"), "health"], { env: { PORT: port } });
  expect((await health(new URL(url).port)).stdout).toContain("/health/readiness: 200");
  await expect(health(String(await freePort()))).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining("ECONNREFUSED") });
});

test("tributary with a role becomes that process: it says when it is ready, and a signal stops it", async () => {
  const [port, metrics] = [String(await freePort()), String(await freePort())];
  const env = {
    PATH: process.env["PATH"],
    CONTROL_PORT: port,
    METRICS_PORT: metrics,
    DATA_DIR: join(clean, "role"),
    SECRET_KEY: "s".repeat(32),
  };
  const child = spawn(process.execPath, [join(installed, "scripts/tributary.js"), "control-plane"], { env, stdio: "ignore" });
  const ended = once(child, "exit");
  const health = () => run(process.execPath, [join(installed, "scripts/tributary.js"), "health"], { env: { METRICS_PORT: metrics } });
  const isReady = () =>
    health().then(
      ({ stdout }) => stdout.includes("/ready: 200 ready"),
      () => false,
    );
  while (!(await isReady())) expect(child.exitCode).toBeNull();
  expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8")).toContain("tributary control-plane");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

if (python === undefined) {
  test("without a Python there is a loud line, and a failure where CI is set", () => {
    const message = "NO PYTHON: the wheel of sdk/python is not built. Set TEST_PYTHON, or use `make test`.";
    process.stderr.write(`${message}\n`);
    if (process.env["CI"]) throw new Error(message);
    expect(message).toContain("NO PYTHON");
  });
} else {
  test("the wheel of the Python SDK, installed in a clean environment, has the same version, is called by a federation and joins it with a token", async () => {
    const wheel = buildWheel(root, clean, { python, ownTools: true });
    expect(basename(wheel)).toBe(`tributary_participant-${version}-py3-none-any.whl`);
    const venv = join(clean, "venv");
    const own = join(venv, "bin/python");
    await run(python, ["-m", "venv", "--without-pip", venv]);
    await run(python, ["-m", "pip", "--python", own, "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel]);
    const participant = await startPythonParticipant({ python: own, isInstalled: true });
    let joined: ChildProcess | undefined;
    try {
      const tenant = await newTenant({ url }, { name: "wheel", creditNano: 1_000_000_000 });
      const body = { name: "wheel", rounds: 2, task: { name: "own" }, participants: [{ url: participant.url }, { join: true }] };
      const created = await call(url, "POST", "/training/federations", { token: tenant.token, body });
      expect({ status: created.status, text: created.status === 201 ? "" : created.text }).toEqual({ status: 201, text: "" });
      joined = joinBehindNat(own, created.body.joinTokens[0]);
      const federation = await federationWhen({ url }, { token: tenant.token, id: created.body.federation.id });
      expect(federation).toMatchObject({ state: "completed" });
      const rounds = await call(url, "GET", `/training/federations/${federation.id}/rounds`, { token: tenant.token });
      const states = rounds.body.data.map((round: { participants: { state: string }[] }) => round.participants.map(({ state }) => state));
      expect(states).toEqual([
        ["accepted", "accepted"],
        ["accepted", "accepted"],
      ]);
    } finally {
      joined?.kill("SIGTERM");
      await participant.stop();
    }
  });
}
