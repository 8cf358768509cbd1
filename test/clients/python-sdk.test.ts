import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { encodeParameters } from "../../trainer-node/codec/parameters.ts";
import { fixedPointFor, toWords } from "../../trainer-node/compute/privacy/fixed-point.ts";
import { joinShares, type Share } from "../../trainer-node/compute/privacy/shamir.ts";
import { helpFor, introduction, maskedWords } from "../../trainer-node/privacy/secure-sum.ts";
import { fromBase64, writeIntroduction } from "../../trainer-node/privacy/wire.ts";

const run = promisify(execFile);
const python = process.env["TEST_PYTHON"];
const MISSING = "NO PYTHON: the tests of sdk/python do not run. Set TEST_PYTHON, or use `make test`.";
const sdk = resolve(import.meta.dirname, "../../sdk/python");
const PYTEST_MAX_MS = 240_000;

/** What the package writes, by one of its own tensors of each width. */
const WRITE = `import base64
from tributary_participant.safetensors import Tensor, dump
tensors = {"weight": Tensor.of([1.5, -2, 0.25, 4], shape=[2, 2]), "bias": Tensor.of([0.5], dtype="F16"), "größe": Tensor.of([-7], dtype="I64")}
print(base64.b64encode(dump(tensors)).decode())`;

/** What the package makes of fixed secrets: its introduction, its masked words, and its shares, which the trainer node must be able to read. */
const MASK = `import json, sys, numpy
from base64 import b64encode
from tributary_participant.secure_steps import _read_introduction, _write_introduction
from tributary_participant.secure_sum import RoundSecrets, fraction_bits_for, masked_words, shares_for, to_words
given = json.load(sys.stdin)
own = RoundSecrets("fed_ä/7", "p2", bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32)
introduction = own.introduction()
everybody = [*map(_read_introduction, given["others"]), introduction]
words = to_words(numpy.array(given["values"]) * given["factor"], fraction_bits_for(clients=3, limit=given["range"]))
print(json.dumps({
    "introduction": _write_introduction(introduction),
    "words": b64encode(masked_words(words, own, everybody).tobytes()).decode(),
    "shares": {id: b64encode(sealed).decode() for id, sealed in shares_for(own, everybody, 2).items()},
}))`;

interface Ended {
  readonly passed: boolean;
  readonly output: string;
}

async function withInput(
  program: string,
  code: string,
  input: string,
): Promise<{ introduction: object; words: string; shares: Record<string, string> }> {
  const running = run(program, ["-c", code], { env: environment(), timeout: 30_000, maxBuffer: 64 * 1024 * 1024 });
  running.child.stdin?.end(input);
  return JSON.parse((await running).stdout);
}

async function runPytest(program: string): Promise<Ended> {
  const options = ["-m", "pytest", "-q", "-rs", "--color=no", "--tb=short"];
  try {
    const { stdout } = await run(program, options, { cwd: sdk, env: environment(), timeout: PYTEST_MAX_MS, maxBuffer: 64 * 1024 * 1024 });
    return { passed: true, output: stdout };
  } catch (thrown) {
    const { stdout = "", stderr = "" } = thrown as { stdout?: string; stderr?: string };
    return { passed: false, output: `${stdout}${stderr}` || String(thrown) };
  }
}

/** Whatever this machine sets for a trainer of its own has no part in these tests. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(TRAINER_|PYTEST_)|^(HOST|DATASET_PATH|PYTHONPATH)$/.test(name));
  return { ...Object.fromEntries(kept), PYTHONDONTWRITEBYTECODE: "1", PYTHONPATH: join(sdk, "src"), PYTHONUTF8: "1" };
}

if (python === undefined) {
  test("without a Python there is a loud line, and a failure where CI is set", () => {
    process.stderr.write(`${MISSING}\n`);
    if (process.env["CI"]) throw new Error(MISSING);
  });
} else {
  test(
    "every test of the Python package passes",
    async () => {
      const { passed, output } = await runPytest(python);
      const lines = output.trimEnd().split("\n");
      // The reasons of what was skipped, and the counts.
      for (const line of lines.filter((text) => text.startsWith("SKIPPED"))) process.stderr.write(`sdk/python: ${line}\n`);
      process.stderr.write(`sdk/python: ${lines.at(-1)}\n`);
      if (!passed) throw new Error(`pytest of sdk/python failed:\n${output.slice(-20_000)}`);
      expect(Number(/(\d+) passed/.exec(lines.at(-1) ?? "")?.[1] ?? 0)).toBeGreaterThan(200);
    },
    PYTEST_MAX_MS + 10_000,
  );

  test("the package and the trainer node write the same tensors as the same bytes", async () => {
    const { stdout } = await run(python, ["-c", WRITE], { env: environment(), timeout: 30_000 });
    const ours = encodeParameters(
      [
        { name: "größe", dtype: "i64", shape: [1], data: BigInt64Array.of(-7n) },
        { name: "bias", dtype: "f16", shape: [1], data: Float32Array.of(0.5) },
        { name: "weight", dtype: "f32", shape: [2, 2], data: Float32Array.of(1.5, -2, 0.25, 4) },
      ],
      "safetensors",
    );
    expect(stdout.trim()).toBe(Buffer.from(ours).toString("base64"));
  });

  test("the package and the trainer node mask the same update to the same bytes, and each reads the other's shares", async () => {
    const [round, range, factor] = ["fed_ä/7", 0.3, 1 / 3];
    const secretsOf = (id: string, first: number) => {
      const [pairSecret, shareSecret, ownMask] = [0, 1, 2].map((index) => new Uint8Array(32).fill(first + index)) as [
        Uint8Array,
        Uint8Array,
        Uint8Array,
      ];
      return { round, id, pairSecret, shareSecret, ownMask };
    };
    const [p1, p2, q] = [secretsOf("p1", 11), secretsOf("p2", 1), secretsOf("ü", 21)] as const;
    const values = Array.from({ length: 40_000 }, (_, index) => range * Math.sin(index));
    const given = { others: [p1, q].map((secrets) => writeIntroduction(introduction(secrets))), values, factor, range };
    const made = await withInput(python, MASK, JSON.stringify(given));
    expect(made.introduction).toEqual(writeIntroduction(introduction(p2)));
    const everybody = [p1, p2, q].map(introduction);
    const words = toWords(
      Float64Array.from(values, (value) => value * factor),
      fixedPointFor({ clients: 3, limit: range }),
    );
    expect(fromBase64(made.words)).toEqual(new Uint8Array(maskedWords(words, p2, everybody).buffer));
    const shareOf = (secrets: typeof p1) => {
      const received = new Map([["p2", fromBase64(made.shares[secrets.id] as string)]]);
      return helpFor(secrets, { everybody, received, inSum: ["p1", "p2"], threshold: 2 }).ownMasks.get("p2") as Share;
    };
    expect(joinShares([shareOf(p1), shareOf(q)])).toEqual(p2.ownMask);
  });
}
