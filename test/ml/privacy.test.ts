import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { epsilonAfter } from "../../common/training/privacy-account.ts";
import { decodeParameters } from "../../trainer-node/codec/parameters.ts";
import { mlEnvironment, startPythonParticipant, startTrainer } from "../helpers/federations.ts";

// Epsilon beside the real dp-accounting, and noise as it comes over the wire: `make test-ml` makes the Python that this needs.
const run = promisify(execFile);
const python = process.env["ML_PYTHON"];
const withPython = python === undefined ? test.skip : test;
const WHY = python === undefined ? " (ML_PYTHON names no Python with dp-accounting; `make test-ml` makes one)" : "";
const MAX_MS = 170_000;

/** Share of sampled participants, noise multiplier, rounds, delta. */
const SETTINGS = [
  [1, 0.7, 10, 1e-5],
  [1, 1, 1, 1e-5],
  [1, 1, 100, 1e-6],
  [1, 2, 10, 1e-5],
  [1, 2, 1000, 1e-6],
  [1, 5, 100, 1e-5],
  [0.01, 0.8, 100, 1e-5],
  [0.01, 1, 1000, 1e-6],
  [0.05, 1, 100, 1e-5],
  [0.1, 1, 10, 1e-5],
  [0.1, 4, 1000, 1e-6],
  [0.3, 1, 100, 1e-5],
] as const;

const ACCOUNTANT = `import json, sys
from importlib.metadata import version
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
epsilons = []
for share, noise, rounds, delta in json.loads(sys.argv[1]):
    event = dp_event.GaussianDpEvent(noise)
    event = event if share == 1 else dp_event.PoissonSampledDpEvent(share, event)
    epsilons.append(RdpAccountant().compose(dp_event.SelfComposedDpEvent(event, rounds)).get_epsilon(delta))
print(json.dumps({"version": version("dp-accounting"), "epsilons": epsilons}))`;

withPython(
  `epsilon is within 1 % of dp-accounting's for twelve settings, and never above it${WHY}`,
  async () => {
    const { stdout } = await run(python as string, ["-c", ACCOUNTANT, JSON.stringify(SETTINGS)], { timeout: MAX_MS });
    const { version, epsilons } = JSON.parse(stdout) as { version: string; epsilons: number[] };
    const rows = SETTINGS.map(([share, noiseMultiplier, rounds, delta], index) => {
      const sampling = share === 1 ? undefined : { share, participants: 1_000_000 };
      const theirs = epsilons[index] ?? Number.NaN;
      return { share, noiseMultiplier, rounds, delta, ours: epsilonAfter({ noiseMultiplier, delta }, rounds, sampling), theirs };
    });
    const cells = ({ share, noiseMultiplier, rounds, delta, ours, theirs }: (typeof rows)[0]) => [
      ...[share === 1 ? "all" : String(share), String(noiseMultiplier), String(rounds), delta.toExponential()],
      ...[ours.toFixed(4), theirs.toFixed(4), `${(100 * (ours / theirs - 1)).toFixed(2)} %`],
    ];
    const head = ["sampled", "noise", "rounds", "delta", "epsilon", `dp-accounting ${version}`, "difference"];
    printTable([head, ...rows.map(cells)]);
    for (const { ours, theirs } of rows) {
      expect(ours).toBeLessThanOrEqual(theirs * (1 + 1e-6));
      expect(ours).toBeGreaterThan(0.99 * theirs);
    }
  },
  MAX_MS,
);

const NOISE = [
  { clip_norm: 1, noise_multiplier: 1 },
  { clip_norm: 0.1, noise_multiplier: 2 },
  { clip_norm: 1.5, noise_multiplier: 5 },
];
const SIZE = 40_000;

withPython(
  `the noise of an update, measured on what a participant sends, has the deviation that the settings name within 2 %${WHY}`,
  async () => {
    const program = [join(import.meta.dirname, "zeros_participant.py"), String(SIZE)];
    const node = await startTrainer({ TRAINER_AUTH: "loopback" });
    const sdk = await startPythonParticipant({ python: python as string, program, env: mlEnvironment("/tmp") });
    try {
      // A rate that changes no number of the model noticeably.
      const task = { dataset: { name: "digits", classes: [0] }, config: { task: "mlp", hidden: [512], epochs: 1, lr: 1e-12, seed: 1 } };
      const measured = [
        ...(await measure({ who: "trainer node", url: node.url, task })),
        ...(await measure({ who: "Python SDK", url: sdk.url, task: { config: {} } })),
      ];
      printTable([
        ["noise on the wire", "clip norm", "multiplier", "numbers", "deviation", "measured", "difference"],
        ...measured.map(({ who, clip_norm, noise_multiplier, count, deviation }) => {
          const asked = clip_norm * noise_multiplier;
          const shown = [asked.toFixed(4), deviation.toFixed(4), `${(100 * (deviation / asked - 1)).toFixed(2)} %`];
          return [who, String(clip_norm), String(noise_multiplier), String(count), ...shown];
        }),
      ]);
      for (const { clip_norm, noise_multiplier, deviation, count } of measured) {
        expect(count).toBeGreaterThan(30_000);
        expect(Math.abs(deviation / (clip_norm * noise_multiplier) - 1)).toBeLessThan(0.02);
      }
    } finally {
      await Promise.all([sdk.stop(), node.process.stop()]);
    }
  },
  MAX_MS,
);

interface Measured {
  readonly who: string;
  readonly url: string;
  readonly task: { readonly dataset?: unknown; readonly config: object };
}

/** The deviation of the difference between the parameters that were sent and those that came back. */
async function measure({ who, url, task }: Measured) {
  const first = await trained(url, { ...task, parameters: null });
  const rows = [];
  for (const noise of NOISE) {
    const noised = await trained(url, { ...task, config: { ...task.config, ...noise }, parameters: first });
    const [before, after] = [numbersOf(first), numbersOf(noised)];
    const squares = after.reduce((sum, value, index) => sum + (value - (before[index] ?? 0)) ** 2, 0);
    rows.push({ who, ...noise, count: after.length, deviation: Math.sqrt(squares / after.length) });
  }
  return rows;
}

async function trained(url: string, body: object): Promise<string> {
  const answer = await fetch(`${url}/train`, { method: "POST", body: JSON.stringify({ ...body, format: "safetensors" }) });
  const text = await answer.text();
  expect([answer.status, answer.ok ? "" : text]).toEqual([200, ""]);
  return (JSON.parse(text) as { parameters: string }).parameters;
}

const numbersOf = (parameters: string): number[] =>
  decodeParameters(Buffer.from(parameters, "base64")).tensors.flatMap(({ data }) => Array.from(data as Float32Array));

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  process.stdout.write(`${lines.join("\n")}\n`);
}
