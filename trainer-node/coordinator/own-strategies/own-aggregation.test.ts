import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OwnStrategy, sourceHash } from "../../../common/strategies/shared/own-strategy.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import type { Aggregation } from "../aggregation.ts";
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import { model } from "../run-fixture.ts";
import { withOwnStrategies } from "./own-aggregation.ts";

const python = process.env["TEST_PYTHON"];
const NO_PYTHON = python === undefined ? " (TEST_PYTHON names no Python with numpy; `make test` makes one)" : "";
const inPython = python === undefined ? test.skip : test;
const { signal } = new AbortController();

let folder: string;
let blobs: BlobFolder;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-own-"));
  blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const builtIn = { store: async () => "built in" } as unknown as Aggregation;

interface Given {
  language?: OwnStrategy["language"];
  updates?: [number, Uint8Array][];
  base?: Uint8Array;
  state?: string;
  settings?: object;
  limits?: object;
  recorded?: string;
}

/** Aggregates with an own strategy, as a round does. */
async function aggregate(source: string, given: Given = {}): Promise<{ parameters: string; state: string | undefined }> {
  const { language = "typescript", updates = [[1, model(1, 2)]], base, state = "", settings, limits, recorded } = given;
  const options = { allowed: true, python: python ?? "python3", deadlineMs: 20_000, memoryMb: 1024, ...limits };
  const kept = await Promise.all(updates.map(async ([weight, bytes], index) => ({ weight, id: `p${index}`, hash: await keep(bytes) })));
  const strategy = { name: "mine", language, source: recorded ?? sourceHash(source), round: 3, ...settings };
  const input = { updates: kept, strategy, base: base ? await keep(base) : "", state, own: { language, source } };
  return withOwnStrategies(builtIn, { blobs, ...options }).store(input, signal);
}
const keep = async (bytes: Uint8Array) => (await blobs.keepBytes(bytes)).sha256;
const valuesOf = async (sha256: string) => Array.from(decodeParameters(await blobs.read(sha256)).tensors[0]?.data as Float32Array);

const MEAN = `
type Parameters = Record<string, Float32Array>;
type Context = { base?: Parameters; settings: { lr: number }; round: number };
export function aggregate(updates: { weight: number; parameters: Parameters }[], { base, settings, round }: Context) {
  const total = updates.reduce((sum, { weight }) => sum + weight, 0);
  const mean = updates[0].parameters.w.map((_, at) => updates.reduce((sum, { weight, parameters }) => sum + (weight / total) * parameters.w[at], 0));
  return { w: base ? mean.map((value, at) => base.w[at] + settings.lr * (value - base.w[at]) + round) : mean };
}`;

const PYTHON_MEAN = `
import numpy as np

def aggregate(updates, context):
    weights = np.array([update.weight for update in updates])
    mean = np.average([update.parameters["w"] for update in updates], axis=0, weights=weights).astype(np.float32)
    moved = mean if context.base is None else context.base["w"] + np.float32(context.settings["lr"]) * (mean - context.base["w"]) + context.round
    return {"w": moved.astype(np.float32)}, {"rounds": np.array([1.0 if context.state is None else context.state["rounds"][0] + 1])}
`;

const updates: [number, Uint8Array][] = [
  [1, model(0, 4)],
  [3, model(4, 8)],
];

test("a strategy in TypeScript gets weights, base, settings and round, and the same inputs give the same bytes", async () => {
  expect(await valuesOf((await aggregate(MEAN, { updates })).parameters)).toEqual([3, 7]);
  const given = { updates, base: model(1, 1), settings: { lr: 0.5 } };
  const first = await aggregate(MEAN, given);
  expect(await valuesOf(first.parameters)).toEqual([5, 7]);
  expect(await aggregate(MEAN, given)).toEqual(first);
}, 60_000);

inPython(
  `a strategy in Python gets the same, and carries a state from round to round${NO_PYTHON}`,
  async () => {
    const language = "python";
    const first = await aggregate(PYTHON_MEAN, { language, updates, base: model(1, 1), settings: { lr: 0.5 } });
    expect(await valuesOf(first.parameters)).toEqual([5, 7]);
    const second = await aggregate(PYTHON_MEAN, { language, updates, state: first.state ?? "" });
    const again = await aggregate(PYTHON_MEAN, { language, updates, state: first.state ?? "" });
    expect(second).toEqual(again);
    expect(second.state).not.toBe(first.state);
  },
  60_000,
);

test("a built-in strategy is computed as before", async () => {
  const aggregation = withOwnStrategies(builtIn, { blobs, allowed: false, python: "python3", deadlineMs: 1, memoryMb: 64 });
  expect(await aggregation.store({ updates: [], strategy: { name: "mean" }, base: "", state: "" }, signal)).toBe("built in");
});

const failing = (source: string, given: Given = {}) => expect(aggregate(source, given)).rejects;

test("what a strategy does wrong is a refusal with its name", async () => {
  await failing("export function aggregate() { throw new RangeError('no majority') }").toThrow(
    "The own strategy mine failed: RangeError: no majority.",
  );
  await failing("export const other = 1").toThrow("the source exports no function aggregate(updates, context)");
  await failing("export function aggregate() { return { w: [1, 2] } }").toThrow('"w" of the result must be a typed array');
  await failing("export function aggregate() { return { v: new Float32Array(2) } }").toThrow(
    "mine failed: SHAPE_MISMATCH: its tensors have other names, types or shapes",
  );
  await failing("export function aggregate() { return { w: new Float32Array([1, NaN]) } }").toThrow("NON_FINITE");
  await failing("export function aggregate() { process.exit(0) }").toThrow("its process ended without an answer");
}, 60_000);

test("a Python that is not there is the reason, and not silence", async () => {
  await failing(PYTHON_MEAN, { language: "python", limits: { python: "/no/such/python" } }).toThrow(
    "/no/such/python is not there (STRATEGY_PYTHON",
  );
});

test("models larger than the buffers of a pipe pass through the streams of the process", async () => {
  const data = Float32Array.from({ length: 200_000 }, (_, index) => index % 7);
  const large = encodeParameters([{ name: "w", dtype: "f32", shape: [data.length], data }], "safetensors");
  const { parameters } = await aggregate(MEAN, {
    updates: [
      [1, large],
      [1, large],
    ],
  });
  expect((await valuesOf(parameters)).slice(-3)).toEqual([199_997 % 7, 199_998 % 7, 199_999 % 7]);
}, 60_000);

test("a strategy that is not allowed, or is not the recorded one, does not run", async () => {
  await failing(MEAN, { limits: { allowed: false } }).toThrow("does not allow own strategies (OWN_STRATEGIES)");
  await failing(MEAN, { recorded: sourceHash("another") }).toThrow("its source is not the one that the round recorded");
});

test("a strategy has a deadline and a limit of memory", async () => {
  await failing("export function aggregate() { for (;;); }", { limits: { deadlineMs: 1000 } }).toThrow("it took longer than 1000 ms");
  const hungry = "export function aggregate() { const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1)); }";
  await failing(hungry, { limits: { memoryMb: 300 } }).toThrow(/its process ended without an answer|memory|allocation/i);
}, 60_000);

test("a strategy in TypeScript sees no variable of the coordinator, no file and starts no process", async () => {
  process.env["CANARY_SECRET"] = "canary-of-the-coordinator";
  const told = (body: string) => `export async function aggregate() { ${body} }`;
  await failing(told("throw new Error(JSON.stringify(process.env))")).toThrow(/^(?!.*canary)/);
  await failing(told("(await import('node:fs')).readFileSync('/proc/self/environ')")).toThrow("Access to this API has been restricted");
  await failing(told(`(await import('node:fs')).readFileSync(${JSON.stringify(import.meta.filename)})`)).toThrow("restricted");
  await failing(told("(await import('node:fs')).writeFileSync('/tmp/strategy', 'x')")).toThrow("restricted");
  await failing(told("(await import('node:child_process')).execSync('true')")).toThrow("restricted");
}, 60_000);

inPython(
  `a strategy in Python sees no variable of the coordinator, writes no file and has its limits${NO_PYTHON}`,
  async () => {
    const told = (body: string) => `import os\ndef aggregate(updates, context):\n    ${body}`;
    const language = "python";
    process.env["CANARY_SECRET"] = "canary-of-the-coordinator";
    await failing(told("raise ValueError(str(dict(os.environ)))"), { language }).toThrow(/^(?!.*canary)/);
    await failing(told(`open(${JSON.stringify(join(folder, "mine"))}, "w").write("x")`), { language }).toThrow();
    await failing(told("x = bytearray(2 * 1024 ** 3)"), { language }).toThrow("MemoryError");
    await failing(told("while True: pass"), { language, limits: { deadlineMs: 1500 } }).toThrow("it took longer than 1500 ms");
    await failing(told("return 7"), { language }).toThrow("AttributeError");
  },
  60_000,
);

test("parameters of other formats reach a strategy as tensors", async () => {
  const npz = encodeParameters([{ name: "w", dtype: "f32", shape: [2], data: Float32Array.of(5, 6) }], "npz");
  expect(await valuesOf((await aggregate(MEAN, { updates: [[1, npz]] })).parameters)).toEqual([5, 6]);
});
