import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { call } from "../../helpers/api.ts";
import { freePort, type ServiceProcess, startProcess } from "../../helpers/processes.ts";
import { printLine } from "../ledger-checks.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../..");
/** The script needs nothing but the standard library, so any Python 3 will do. */
const python = process.env["TEST_PYTHON"] ?? "python3";

let child: ServiceProcess | undefined;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-participant-"));
});
afterEach(async () => {
  await child?.stop();
  child = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function start(entry: string, env: Record<string, string> = {}): Promise<string> {
  const port = await freePort();
  child = startProcess({ entry, name: entry, env: { TRAINER_PORT: String(port), TRAINER_THREADS: "2", DATA_DIR: folder, ...env } });
  await child.ready;
  return `http://127.0.0.1:${port}`;
}

test("the script of docs/training.md federates digits over ten participants to 0.95 and more within 15 rounds", async () => {
  const script = join(root, "examples/federate.py");
  // What people read and what is run here are one text.
  expect(readFileSync(join(root, "docs/training.md"), "utf8")).toContain(readFileSync(script, "utf8"));
  expect(readFileSync(script, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(30);
  const token = "the-token-of-this-test";
  const url = await start("trainer-node/main.ts", { TRAINER_TOKEN: token });
  const { stdout } = await run(python, [script, url], { timeout: 100_000, env: { ...process.env, TRAINER_TOKEN: token } });
  const accuracies = [...stdout.matchAll(/accuracy ([\d.]+)/g)].map(([, text]) => Number(text));
  printLine(`federation by hand: accuracy ${accuracies[0]} after one round, ${accuracies.at(-1)} after ${accuracies.length}`);
  expect(accuracies).toHaveLength(15);
  expect(Math.max(...accuracies)).toBeGreaterThanOrEqual(0.95);
});

/** Three participants of the example federate; their sums are the sums of all rows in one place. */
async function federate(url: string) {
  const post = async (path: string, body: object) => (await call(url, "POST", path, { body })).body;
  const parts = [];
  for (const index of [0, 1, 2]) {
    parts.push(await post("/train", { dataset: { name: "digits", partition: { index, of: 3 } } }));
  }
  const merged = await post("/aggregate", { parameters_list: parts.map(({ parameters }) => parameters) });
  const whole = await post("/train", { dataset: "digits" });
  const { accuracy } = await post("/evaluate", { parameters: merged.parameters, dataset: "digits" });
  const valuesOf = (text: string) => [...new Float64Array(Uint8Array.from(Buffer.from(text, "base64")).buffer)];
  return { merged: valuesOf(merged.parameters), whole: valuesOf(whole.parameters), accuracy };
}

test.each([
  ["as a program of its own", "examples/participant.ts", {}],
  ["named to the node by TRAINER_FUNCTIONS", "trainer-node/main.ts", { TRAINER_FUNCTIONS: "examples/participant.ts" }],
])("the TypeScript example serves its functions %s", async (_name, entry, env) => {
  const url = await start(entry, { ...env, TRAINER_BUILTINS: "off" });
  expect((await call(url, "GET", "/v1/info")).body).toMatchObject({ registered: ["train", "evaluate", "aggregate"], builtins: false });
  const { merged, whole, accuracy } = await federate(url);
  expect(merged).toHaveLength(whole.length);
  // Sums of float32 features in another order: equal but for the last digits.
  for (const [index, value] of merged.entries()) expect(value).toBeCloseTo(whole[index] as number, 6);
  expect(accuracy).toBeGreaterThan(0.85);
  const pickled = await call(url, "POST", "/evaluate", { body: { parameters: "gAJ9", dataset: "digits" } });
  expect(pickled).toMatchObject({ status: 422, body: { code: "SHAPE_MISMATCH" } });
  expect(await call(url, "POST", "/predict", { body: {} })).toMatchObject({ status: 501, body: { code: "NOT_REGISTERED" } });
});

test("a module that cannot be loaded stops the start with its name and the reason", async () => {
  const env = { ...process.env, TRAINER_FUNCTIONS: "examples/none.ts", TRAINER_PORT: "0", TRAINER_THREADS: "1", DATA_DIR: folder };
  const ended = await run(process.execPath, ["trainer-node/main.ts"], { cwd: root, env, timeout: 20_000 }).catch((error: unknown) => error);
  expect(ended).toMatchObject({ code: 78, stderr: expect.stringMatching(/TRAINER_FUNCTIONS: examples\/none\.ts: .*could not be loaded/) });
});
