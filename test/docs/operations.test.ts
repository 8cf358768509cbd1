import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminToken, buy, call, chat } from "../helpers/api.ts";
import { freePort } from "../helpers/processes.ts";
import { ADMIN_PASSWORD, MASTER_KEY } from "../helpers/system.ts";
import { untilReady } from "../ship/first-call.ts";
import { type Block, blocksOf, operatorPages, PROGRAMS, root, TEXTS } from "./blocks.ts";
import { runPage, type Stage } from "./run-page.ts";

const all: readonly Block[] = operatorPages().flatMap((page) => blocksOf(page));
const isRun = ({ language, notRun }: Block): boolean => PROGRAMS.has(language) && notRun === undefined;
const runnable = [...new Set(all.filter(isRun).map(({ page }) => page))];

/** What a page takes for granted that an earlier page has made. */
const BEFORE: Readonly<Record<string, string>> = {
  "docs/operations/runbooks/certificate-ends-soon.md": "gw admin certs --out certs --hosts cp.example.org --edges edge-1,edge-2",
};

let folder: string;
let platform: ChildProcess;
let stage: Stage;

/** The platform as `make run` starts it: its logs, its data and its ports for metrics are what these pages look at. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-operations-"));
  const dataFolder = join(folder, "data");
  const [port, control, trainer, coordinator] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const metrics = await freePorts();
  const ports = {
    PORT: port,
    CONTROL_PORT: control,
    TRAINER_PORT: trainer,
    COORDINATOR_PORT: coordinator,
    METRICS_PORT: metrics,
    EDGES: 1,
  };
  const env = {
    ...Object.fromEntries(Object.entries(ports).map(([name, value]) => [name, String(value)])),
    ...{ PATH: process.env["PATH"], HOME: folder, DATA_DIR: dataFolder, MASTER_KEY, ADMIN_PASSWORD },
    NODE_COMPILE_CACHE: join(root, ".cache/compiled"),
  };
  platform = spawn(process.execPath, [join(root, "scripts/run.ts")], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, platform);
  const trainerUrl = `http://127.0.0.1:${trainer}`;
  const operator = await newOperator({ url, trainerUrl });
  mkdirSync(join(folder, "backups"));
  stage = {
    url,
    trainerUrl,
    python: process.env["TEST_PYTHON"] ?? "python3",
    log: { dataFolder },
    env: { ...operator.env, B: url, MASTER_KEY, BACKUP_DIR: join(folder, "backups") },
    others: {
      ...Object.fromEntries([0, 1, 2, 3].map((offset) => [`127.0.0.1:${9464 + offset}`, `127.0.0.1:${metrics + offset}`])),
      "127.0.0.1:5100": `127.0.0.1:${coordinator}`,
      ...operator.ids,
    },
    isLookedAt: true,
  };
});
afterAll(async () => {
  if (platform?.exitCode === null) {
    const ended = once(platform, "exit");
    platform.kill("SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

test("every block of the operators' pages has a language that is known, and one that cannot run says why", () => {
  const strange = all.filter(({ language }) => !PROGRAMS.has(language) && !TEXTS.has(language));
  expect(strange.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
  expect(all.filter(({ notRun }) => notRun !== undefined && notRun.split(" ").length < 3)).toEqual([]);
  expect(Object.keys(BEFORE).filter((page) => !runnable.includes(page))).toEqual([]);
});

test.each(runnable)("what %s shows works", async (page) => {
  const own = all.filter((block) => block.page === page);
  const before = BEFORE[page];
  await expect(runPage(own, { ...stage, ...(before === undefined ? {} : { before }) })).resolves.toBeUndefined();
});

/** The administrator, with a key, a call and a federation, whose IDs take the place of those of the pages. */
async function newOperator({ url, trainerUrl }: { url: string; trainerUrl: string }) {
  const token = await adminToken({ url });
  await buy({ url }, token, 1_000_000_000);
  const teams = await call(url, "GET", "/api/gw/teams", { token });
  const key = (await call(url, "POST", "/api/gw/api-keys", { token, body: { name: "operator", team_id: teams.body.data[0].id } })).body.key;
  const spoken = await chat({ url }, key, "hello");
  const task = { name: "softmax", config: { epochs: 1, lr: 0.3 }, dataset: { name: "digits", partition: { scheme: "iid" } } };
  const body = { name: "looked at", rounds: 1, task, participants: [{ url: trainerUrl }] };
  const made = await call(url, "POST", "/training/federations", { token, body });
  return {
    env: { KEY: key, TOKEN: token, GW_TOKEN: token, GW_API_KEY: key },
    ids: {
      call_1m7f97skhgzxy8hs61sky6j375kv5gc0k: spoken.headers.get("x-gw-call-id") ?? "",
      fed_1m7f90b40pe9y2hb8640w0xzt2pmdvz02: String(made.body.federation.id),
    },
  };
}

/** The first of four ports in a row. */
async function freePorts(): Promise<number> {
  for (;;) {
    const first = await freePort();
    const next = await Promise.all([1, 2, 3].map((offset) => isFree(first + offset)));
    if (next.every(Boolean)) return first;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = Promise.race([once(server, "listening").then(() => true), once(server, "error").then(() => false)]);
  server.listen(port, "127.0.0.1");
  const free = await listening;
  server.close();
  return free;
}
