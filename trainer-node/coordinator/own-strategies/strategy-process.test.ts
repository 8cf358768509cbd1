import type { OwnStrategy } from "../../../common/strategies/shared/own-strategy.ts";
import { runStrategy, StrategyProblem } from "./strategy-process.ts";

const python = process.env["TEST_PYTHON"];
const NO_PYTHON = python === undefined ? " (TEST_PYTHON names no Python with numpy; `make test` makes one)" : "";
const inPython = python === undefined ? test.skip : test;
const limits = { python: python ?? "python3", deadlineMs: 20_000, memoryMb: 1024 };
const { signal } = new AbortController();

/** Selects participants, which is given no parameters. */
const select = (source: string, language: OwnStrategy["language"] = "typescript", given: object = {}) =>
  runStrategy(
    { own: { language, source }, header: { participants: [], round: 1, count: 1, ...given }, blobs: (async function* () {})() },
    limits,
    signal,
  );

const MEBIBYTE = 1024 * 1024;
const answering = (body: string) => `import { writeSync } from "node:fs";\nexport function select(participants) { ${body} }`;
const TOO_LARGE = /^its answer has more than 167\d{5} bytes/;

test("an answer larger than what a strategy was given accounts for is refused while it comes, and ends the process", async () => {
  const endless = select(answering("for (;;) writeSync(1, new Uint8Array(2 ** 20));"));
  await expect(endless).rejects.toThrow(StrategyProblem);
  await expect(endless).rejects.toThrow(TOO_LARGE);
}, 60_000);

inPython(
  `so is one that a strategy in Python writes${NO_PYTHON}`,
  async () => {
    const source = 'import __main__\ndef select(participants, context):\n    while True: __main__.answers.write(b"x" * 2**20)';
    await expect(select(source, "python")).rejects.toThrow(TOO_LARGE);
  },
  60_000,
);

test("a strategy that was given more may answer more", async () => {
  const source = answering(`return "x".repeat(${20 * MEBIBYTE});`);
  await expect(select(source)).rejects.toThrow(TOO_LARGE);
  const [answer] = await select(source, "typescript", { participants: ["y".repeat(2 * MEBIBYTE)] });
  expect(answer?.byteLength).toBe(20 * MEBIBYTE + 2);
}, 60_000);

const header = (bytes: number, text: string) =>
  `const length = new Uint8Array(8); length[0] = ${bytes}; writeSync(1, length); writeSync(1, ${JSON.stringify(text)}); process.exit(0);`;

test.each([
  ["text in front of it", 'console.log("a look at the participants"); return [];'],
  ["a header that is no JSON", header(5, "hello")],
  ["a header that ends early", header(200, "{}")],
  ["no list of blobs", header(2, "{}")],
  ["a blob of less than nothing", header(14, '{"blobs":[-1]}')],
  ["a blob that is not there", header(15, '{"blobs":[100]}')],
])(
  "an answer with %s is the strategy's problem, and not an unexpected failure",
  async (_what, body) => {
    const answer = select(answering(body));
    await expect(answer).rejects.toThrow(StrategyProblem);
    await expect(answer).rejects.toThrow("its answer cannot be read");
  },
  60_000,
);

test("the text of an error has an end, whatever the strategy writes there", async () => {
  const text = JSON.stringify({ error: "x".repeat(MEBIBYTE) });
  const source = answering(`
    const length = new Uint8Array(8); new DataView(length.buffer).setBigUint64(0, BigInt(${text.length}), true); writeSync(1, length);
    for (let at = 0, all = Buffer.from('{"error":"' + "x".repeat(${MEBIBYTE}) + '"}'); at < all.length; ) at += writeSync(1, all, at);
    process.exit(0);`);
  await expect(select(source)).rejects.toMatchObject({ message: "x".repeat(500) });
}, 60_000);
