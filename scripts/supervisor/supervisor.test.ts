import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/helpers/processes.ts";
import { defaultBackOff, nextDelayMs } from "./back-off.ts";
import { firstRunLines, startBanner } from "./banner.ts";
import { lockFolder } from "./folder-lock.ts";
import { openLogFile } from "./log-file.ts";
import { readSettings } from "./settings.ts";
import { createSupervisor, type FirstRun, type Supervisor } from "./supervisor.ts";

/** A small test service: it logs its events to a shared file and behaves as its environment sets. */
const FAKE_SERVICE = `
import { appendFileSync } from "node:fs";
const { NAME, EVENTS, EXIT_CODE, READY_AFTER_MS = "0", STOP_AFTER_MS = "0", DEAF } = process.env;
const note = (what) => appendFileSync(EVENTS, NAME + " " + what + "\\n");
process.stderr.write(NAME + " writes a log line\\n");
if (EXIT_CODE) process.exit(Number(EXIT_CODE));
note("started");
process.on("SIGTERM", () => { if (!DEAF) setTimeout(() => { note("stopped"); process.exit(0); }, Number(STOP_AFTER_MS)); });
process.on("disconnect", () => process.exit(0));
process.on("message", ({ type }) => note("hears " + type));
setTimeout(() => { note("ready"); process.send({ type: "ready", port: 1 }); }, Number(READY_AFTER_MS));
`;

let folder: string;
let supervisor: Supervisor | undefined;
let printed: string[];
let firstRuns: FirstRun[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-supervisor-"));
  writeFileSync(join(folder, "service.ts"), FAKE_SERVICE);
  writeFileSync(join(folder, "events"), "");
  printed = [];
  firstRuns = [];
});

afterEach(async () => {
  await supervisor?.stop();
  supervisor = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const spec = (name: string, env: Record<string, string> = {}) => ({
  name,
  entry: join(folder, "service.ts"),
  env: { PATH: process.env["PATH"], NAME: name, EVENTS: join(folder, "events"), ...env },
});

function supervise(control: ReturnType<typeof spec>, workers: readonly ReturnType<typeof spec>[], stopMs = 5_000): Supervisor {
  supervisor = createSupervisor({ control, workers, ...options(), stopMs });
  return supervisor;
}

const options = () => ({
  logFolder: join(folder, "logs"),
  logToTerminal: false,
  print: (line: string) => printed.push(line),
  onFirstRun: (report: FirstRun) => firstRuns.push(report),
  backOff: { firstMs: 20, maxMs: 80, resetAfterMs: 30_000 },
});

const events = () => readFileSync(join(folder, "events"), "utf8").split("\n").filter(Boolean);

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; waited < 1_000 && !condition(); waited += 1) await sleep(10);
  expect(condition()).toBe(true);
}

test("the control plane is ready before any worker starts, and is the last to stop", async () => {
  const running = supervise(spec("control", { READY_AFTER_MS: "100" }), [spec("edge-0"), spec("trainer")]);
  await running.start();
  expect(events().slice(0, 2)).toEqual(["control started", "control ready"]);
  expect(events().toSorted()).toEqual(expect.arrayContaining(["edge-0 ready", "trainer ready"]));
  await running.stop();
  supervisor = undefined;
  expect(events().at(-1)).toBe("control stopped");
  expect(events().filter((event) => event.endsWith("stopped"))).toHaveLength(3);
});

test("edges stop first, then what started later, then the workers, then the control plane, each when the ones before have ended", async () => {
  const slow = { STOP_AFTER_MS: "50" };
  supervisor = createSupervisor({
    control: spec("control"),
    edges: [spec("edge-0", slow), spec("edge-1", slow)],
    workers: [spec("trainer", slow)],
    later: [spec("coordinator", slow)],
    ...options(),
  });
  await supervisor.start();
  await until(() => events().includes("coordinator ready"));
  await supervisor.stop();
  supervisor = undefined;
  const stopped = events().flatMap((event) => (event.endsWith(" stopped") ? [event.replace(" stopped", "")] : []));
  expect([stopped.slice(0, 2).toSorted(), ...stopped.slice(2)]).toEqual([["edge-0", "edge-1"], "coordinator", "trainer", "control"]);
});

test("when all are ready, also what started later, each hears it once", async () => {
  const control = spec("control");
  supervisor = createSupervisor({
    control,
    workers: [spec("trainer")],
    later: [spec("coordinator", { READY_AFTER_MS: "50" })],
    ...options(),
  });
  await supervisor.start();
  const heard = () => events().filter((event) => event.endsWith("hears all-ready"));
  await until(() => heard().length === 3);
  expect(heard().toSorted()).toEqual(["control hears all-ready", "coordinator hears all-ready", "trainer hears all-ready"]);
  expect(events().indexOf("coordinator ready")).toBeLessThan(events().indexOf(heard()[0] as string));
});

test("a child ended by kill -9 is started again, each time a little later", async () => {
  const running = supervise(spec("control"), [spec("edge-0")]);
  await running.start();
  for (const starts of [2, 3]) {
    process.kill(running.children[1]?.pid ?? 0, "SIGKILL");
    await until(() => events().filter((event) => event === "edge-0 ready").length === starts);
  }
  const announced = printed.filter((line) => line.includes("SIGKILL"));
  expect(announced).toEqual([expect.stringContaining("in 20 ms"), expect.stringContaining("in 40 ms")]);
  expect(events().filter((event) => event === "control started")).toHaveLength(1);
});

test("a wrong configuration (78) is not tried again, and its last lines are shown", async () => {
  const running = supervise(spec("control"), [spec("edge-0", { EXIT_CODE: "78" })]);
  const started = running.start();
  await expect(running.failed).resolves.toEqual({ name: "edge-0", code: 78 });
  await sleep(100);
  expect(readFileSync(join(folder, "logs/edge-0.log"), "utf8")).toBe("edge-0 writes a log line\n");
  expect(printed).toContain("  edge-0 | edge-0 writes a log line");
  await expect(Promise.race([started, sleep(10, "still waiting")])).resolves.toBe("still waiting");
});

test("a child that never becomes ready is given up after five starts", async () => {
  const running = supervise(spec("control", { EXIT_CODE: "1" }), []);
  void running.start();
  await expect(running.failed).resolves.toEqual({ name: "control", code: 1 });
  expect(readFileSync(join(folder, "logs/control.log"), "utf8").split("\n").filter(Boolean)).toHaveLength(5);
});

test("a child that does not listen to SIGTERM is killed when its time is over", async () => {
  const running = supervise(spec("control"), [spec("edge-0", { DEAF: "1" })], 200);
  await running.start();
  const pid = running.children[1]?.pid ?? 0;
  await running.stop();
  supervisor = undefined;
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("the delay doubles to its maximum and begins anew after a good run", () => {
  const delays: number[] = [];
  for (let round = 0; round < 8; round += 1) delays.push(nextDelayMs(defaultBackOff, { previousMs: delays.at(-1), upMs: 5 }));
  expect(delays).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  expect(nextDelayMs(defaultBackOff, { previousMs: 10_000, upMs: 30_000 })).toBe(200);
});

test("a log file is private, appended to, and put aside when it is too large", () => {
  const write = (text: string, bytes?: number) => {
    const log = openLogFile(join(folder, "logs"), "edge-0", bytes === undefined ? undefined : { bytes, kept: 2 });
    writeFileSync(log.descriptor, text);
    const result = { tail: log.tail(2), mode: statSync(log.path).mode & 0o777 };
    log.close();
    return result;
  };
  expect(write("one\ntwo\nthree\n")).toEqual({ tail: ["two", "three"], mode: 0o600 });
  expect(write("four\n").tail).toEqual(["four"]);
  write("five\n", 4);
  expect(readFileSync(join(folder, "logs/edge-0.log"), "utf8")).toBe("five\n");
  expect(readFileSync(join(folder, "logs/edge-0.log.1"), "utf8")).toBe("one\ntwo\nthree\nfour\n");
});

test("a log file is put aside while its process runs: it goes on writing to the same file, and only so many files stay", () => {
  const log = openLogFile(join(folder, "logs"), "edge-0", { bytes: 8, kept: 2 });
  // As a child has it: a descriptor of its own that appends.
  const child = openSync(`/proc/self/fd/${log.descriptor}`, "a");
  const shown: string[] = [];
  for (const line of ["one\n", "two\n", "three\n", "four\n", "five five\n", "six\n"]) {
    writeSync(child, line);
    log.rotate();
    shown.push(log.unread().toString());
  }
  const read = (ending = "") => readFileSync(join(folder, `logs/edge-0.log${ending}`), "utf8");
  expect([read(".2"), read(".1"), read()]).toEqual(["one\ntwo\nthree\n", "four\nfive five\n", "six\n"]);
  expect(shown.join("")).toBe("one\ntwo\nthree\nfour\nfive five\nsix\n");
  expect(log.tail(1)).toEqual(["six"]);
  for (let index = 0; index < 10; index++) {
    writeSync(child, "a long line\n");
    log.rotate();
  }
  expect(readdirSync(join(folder, "logs")).toSorted()).toEqual(["edge-0.log", "edge-0.log.1", "edge-0.log.2"]);
  expect(statSync(join(folder, "logs/edge-0.log.1")).mode & 0o777).toBe(0o600);
  closeSync(child);
  log.close();
});

test("a data folder in use is refused; a lock left by a dead process is not in the way", async () => {
  const sleeper = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const startedAt = readFileSync(`/proc/${sleeper.pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19];
  writeFileSync(join(folder, "supervisor.lock"), `${sleeper.pid} ${startedAt}\n`);
  const refused = await lockFolder(folder).catch((error: unknown) => error);
  sleeper.kill("SIGKILL");
  await once(sleeper, "exit");
  expect(String(refused)).toContain(`process ${sleeper.pid}`);
  const unlock = await lockFolder(folder);
  expect(readFileSync(join(folder, "supervisor.lock"), "utf8")).toMatch(`${process.pid} `);
  unlock();
  expect(() => statSync(join(folder, "supervisor.lock"))).toThrow("ENOENT");
});

test("settings report every problem at once", () => {
  const wrong = { PORT: "70000", EDGES: "0", DATA_DIR: join(folder, "events"), CONFIG: join(folder, "gone.yaml") };
  expect(() => readSettings(wrong)).toThrow("4 problem(s)");
  expect(() => readSettings({ PORT: "5000" })).toThrow("must differ");
  expect(readSettings({ DATA_DIR: folder, EDGES: "3" })).toMatchObject({
    port: 4000,
    trainerPort: 5000,
    controlPort: 4100,
    coordinatorPort: 5100,
    edges: 3,
  });
});

test.each<[Record<string, string>, boolean]>([
  [{}, true],
  [{ HOST: "0.0.0.0" }, false],
  [{ TRUST_PROXY: "10.0.0.1" }, false],
  [{ TRAINER_TOKEN: "a-token-of-the-operator" }, false],
  [{ TRAINER_SECRET: "a-secret-of-the-operator" }, false],
  [{ TRAINER_ANONYMOUS: "false" }, false],
  [{ HOST: "0.0.0.0", TRAINER_ANONYMOUS: "true" }, true],
])("with %j callers of this machine can use the trainer without a token: %s", (given, expected) => {
  expect(readSettings({ DATA_DIR: folder, ...given }).trainerAnonymous).toBe(expected);
});

test("the banner shows made secrets once, and a first call that works as it stands", () => {
  const settings = readSettings({ DATA_DIR: folder, EDGES: "2", HOST: "0.0.0.0" });
  const firstRun: FirstRun = { type: "first-run", adminEmail: "admin@localhost", adminPassword: "p4ss", masterKey: "sk-made" };
  const first = startBanner({ settings, firstRun, masterKeySet: false, tookMs: 1_234 });
  expect(first).toContain("(1.2 s, 2 edges)");
  expect(first).toContain("p4ss");
  expect(first).toContain('curl -s http://127.0.0.1:4000/v1/chat/completions -H "Authorization: Bearer sk-made" -H');
  expect(startBanner({ settings, firstRun: undefined, masterKeySet: false, tookMs: 1 })).toContain("Bearer $TRIBUTARY_KEY");
  expect(first).toContain("WARNING: HOST is 0.0.0.0 and NODE_ENV is not production");
  expect(firstRunLines({ ...firstRun, adminPassword: null, masterKey: null })).not.toContain("shown once");
});

describe("the banner says in one line each who can use", () => {
  /** The lines of the banner by their names. */
  const shown = (more: Record<string, string>) => {
    const settings = readSettings({ DATA_DIR: folder, ...more });
    const banner = startBanner({ settings, firstRun: undefined, masterKeySet: true, tookMs: 1 });
    const lines = [...banner.matchAll(/^ {4}(\S.*?) {2,}(.*)$/gm)].map(([, name = "", whom = ""]) => [name, whom]);
    return { banner, lines: Object.fromEntries(lines) as Record<string, string> };
  };
  const LOCAL = "processes of this machine";
  const open = (variable: string) => `every account (${variable}=false closes it)`;
  const closed = (variable: string) => `no account (${variable}=true opens it)`;

  test("what, on one's own machine", () => {
    const { banner, lines } = shown({});
    expect(lines).toEqual({
      "sign-up": LOCAL,
      "test credits": open("TEST_CREDITS"),
      "nodes at private URLs": open("ALLOW_PRIVATE_NODES"),
      "MCP at private URLs": open("ALLOW_PRIVATE_MCP"),
      "own strategies": open("OWN_STRATEGIES"),
      "webhooks at private URLs": open("ALLOW_PRIVATE_WEBHOOKS"),
      "shared trainer": open("SHARED_TRAINERS"),
      "trainer port 5000": `${LOCAL}, without seeing data of organizations (TRAINER_ANONYMOUS=false closes it)`,
      metrics: `${LOCAL}, and admins`,
      "gRPC reflection": `${LOCAL} that have the control token`,
    });
    expect(banner).not.toContain("WARNING");
    expect(shown({ STRIPE_SECRET_KEY: "sk_test_1" }).lines["test credits"]).toBe(closed("TEST_CREDITS"));
  });

  test("what, when exposed", () => {
    const { banner, lines } = shown({ NODE_ENV: "production", HOST: "0.0.0.0", TEST_CREDITS: "true" });
    expect(lines).toEqual({
      "sign-up": "anyone who reaches the gateway on 0.0.0.0:4000, directly or through a proxy",
      "test credits": open("TEST_CREDITS"),
      "nodes at private URLs": closed("ALLOW_PRIVATE_NODES"),
      "MCP at private URLs": closed("ALLOW_PRIVATE_MCP"),
      "own strategies": closed("OWN_STRATEGIES"),
      "webhooks at private URLs": closed("ALLOW_PRIVATE_WEBHOOKS"),
      "shared trainer": closed("SHARED_TRAINERS"),
      "trainer port 5000": "only the gateway (TRAINER_TOKEN opens it to callers with that token)",
      metrics: `${LOCAL}, and admins`,
      "gRPC reflection": "no one",
    });
    expect(banner).not.toContain("WARNING");
  });

  test.each([
    [{ TRAINER_TOKEN: "a-token-of-the-operator" }, "callers with TRAINER_TOKEN"],
    [{ TRAINER_SECRET: "a-secret-of-the-operator" }, "callers that sign with TRAINER_SECRET"],
  ])("the trainer, with %j", (given, whom) => {
    expect(shown(given).lines["trainer port 5000"]).toBe(whom);
  });
});

test("make run refuses a taken port by its number and its variable, with code 78", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  mkdirSync(join(folder, "data"));
  const child = spawn(process.execPath, [resolve(import.meta.dirname, "../run.ts")], {
    env: {
      PATH: process.env["PATH"],
      DATA_DIR: join(folder, "data"),
      PORT: port,
      TRAINER_PORT: String(await freePort()),
      CONTROL_PORT: String(await freePort()),
      COORDINATOR_PORT: String(await freePort()),
    },
  });
  let text = "";
  child.stderr.on("data", (chunk) => {
    text += chunk;
  });
  const [code] = await once(child, "close");
  taken.close();
  expect(code).toBe(78);
  expect(text).toContain(`PORT: port ${port} on 127.0.0.1 is taken`);
});
