import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { call } from "../../helpers/api.ts";
import { type System, startSystem } from "../../helpers/system.ts";
import { printLine } from "../ledger-checks.ts";

const run = promisify(execFile);
const python = process.env["TEST_PYTHON"];
const config = { task: "softmax", epochs: 8, batch_size: 16, lr: 0.05, seed: 7 };

let system: System;
beforeAll(async () => {
  system = await startSystem({ trainer: true });
});
afterAll(() => system?.stop());

async function participant(path: string, body: object) {
  const answer = await call(system.trainerUrl, "POST", path, { body });
  expect(answer.status).toBe(200);
  return answer.body;
}

test("two participants that each know half of the digits make together a model that is better than either", async () => {
  const parts = [];
  for (const classes of [
    [0, 1, 2, 3, 4],
    [5, 6, 7, 8, 9],
  ]) {
    const trained = await participant("/train", { dataset: { name: "digits", classes }, config });
    expect(trained.num_samples).toBeGreaterThan(500);
    parts.push({ parameters: trained.parameters as string, samples: trained.num_samples as number });
  }
  const aggregate = await participant("/aggregate", {
    parameters_list: parts.map(({ parameters }) => parameters),
    weights: parts.map(({ samples }) => samples),
  });
  // Equal inputs give equal bytes, whatever order they arrive in.
  const again = await participant("/aggregate", {
    parameters_list: parts.map(({ parameters }) => parameters).reverse(),
    weights: parts.map(({ samples }) => samples).reverse(),
  });
  expect(again.parameters).toBe(aggregate.parameters);

  const accuracyOf = async (parameters: string) => (await participant("/evaluate", { parameters, dataset: "digits" })).accuracy as number;
  const alone = await Promise.all(parts.map(({ parameters }) => accuracyOf(parameters)));
  const together = await accuracyOf(aggregate.parameters);
  printLine(
    `training: accuracy on all ten digits ${alone.map((value) => value.toFixed(3)).join(" and ")} alone, ${together.toFixed(3)} together`,
  );
  for (const value of alone) expect(together).toBeGreaterThan(value);
});

test("parameters as npy are what NumPy writes and reads: changed there by one operation, they come back usable", async () => {
  const trained = await participant("/train", { dataset: "digits", config, format: "npy" });
  expect(Buffer.from(trained.parameters, "base64").subarray(0, 6).toString("latin1")).toBe("\x93NUMPY");
  const before = (await participant("/evaluate", { parameters: trained.parameters, dataset: "digits" })).accuracy;
  expect(before).toBeGreaterThan(0.85);

  const missing = await withoutNumpy();
  if (missing !== undefined) {
    const reason = `NO NUMPY: the round trip of npy through NumPy is left out: ${missing}`;
    if (process.env["CI"]) throw new Error(reason);
    return printLine(reason);
  }
  // Doubling every weight changes each number and no decision of a linear classifier.
  const script =
    "import base64, io, sys, numpy\nvalue = numpy.load(io.BytesIO(base64.b64decode(sys.argv[1])), allow_pickle=False)\n" +
    "out = io.BytesIO()\nnumpy.save(out, value * 2)\nprint(base64.b64encode(out.getvalue()).decode())";
  const { stdout } = await run(python ?? "", ["-c", script, trained.parameters]);
  const after = await participant("/evaluate", { parameters: stdout.trim(), dataset: "digits" });
  expect(after.accuracy).toBe(before);
});

async function withoutNumpy(): Promise<string | undefined> {
  if (python === undefined) return "TEST_PYTHON is not set";
  return run(python, ["-c", "import numpy"]).then(
    () => undefined,
    () => `${python} has no numpy`,
  );
}
