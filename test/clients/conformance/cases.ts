import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "./bench.ts";

export interface CaseResult {
  readonly id: string;
  readonly client: string;
  readonly ok: boolean;
  /** The first difference. */
  readonly problem?: string;
}

/** One line for each case and client; collected for `make test-clients` where it says so. */
function record({ id, client, ok, problem }: CaseResult): void {
  const line = `${id} ${client} ${ok ? "pass" : `FAIL ${problem?.split("\n").slice(0, 6).join(" | ")}`}`;
  process.stderr.write(`${line}\n`);
  const file = process.env["CONFORMANCE_RESULTS"];
  if (file) appendFileSync(file, `${JSON.stringify({ id, client, ok, problem })}\n`);
}

/** Tells the report which version a client has. */
export function recordVersion(client: string, version: string): void {
  const file = process.env["CONFORMANCE_RESULTS"];
  if (file) appendFileSync(file, `${JSON.stringify({ client, version })}\n`);
}

type Cases = Readonly<Record<string, () => Promise<unknown>>>;

/** A test for each case of a client that runs in this process. */
export function testCases(client: string, cases: Cases, timeoutMs = 30_000): void {
  test.each(Object.keys(cases))(
    `%s ${client}`,
    async (id) => {
      try {
        await cases[id]?.();
      } catch (error) {
        record({ id, client, ok: false, problem: String(error instanceof Error ? error.message : error) });
        throw error;
      }
      record({ id, client, ok: true });
    },
    timeoutMs,
  );
}

interface ScriptOptions {
  readonly client: string;
  readonly ids: readonly string[];
  /** Program and script; the settings of the bench are on its standard input. */
  readonly command: () => readonly string[] | undefined;
  readonly bench: () => Bench;
  readonly limitedKey?: number;
  readonly timeoutMs?: number;
}

const NO_PYTHON = "NO PYTHON CLIENT: set TEST_PYTHON, or use `make test-clients`.";

/** A test for each case of a script in a process of its own, which prints {"id","ok","problem"} by line, the first line {"version"}. */
export function testScript({ client, ids, command, bench, limitedKey = 1, timeoutMs = 120_000 }: ScriptOptions): void {
  describe(`${client} by script`, () => {
    let results: ReadonlyMap<string, CaseResult> | undefined;
    let trouble = "";
    beforeAll(async () => {
      const line = command();
      if (!line) return;
      const { fake, system, baseUrl, key, restrictedKey, blockedKey, emptyKey, limitedKeys } = bench();
      const keys = { key, restrictedKey, blockedKey, emptyKey, limitedKey: limitedKeys[limitedKey] };
      const output = await runScript(line, JSON.stringify({ url: system.url, baseUrl, upstreamUrl: fake.url, ...keys }), timeoutMs);
      trouble = output.trouble;
      results = new Map(readLines(client, output.lines).map((result) => [result.id, result]));
    }, timeoutMs + 10_000);
    test.each(ids)(`%s ${client}`, (id) => {
      if (!results && command() === undefined) return withoutPython();
      const result = results?.get(id) ?? { id, client, ok: false, problem: `the script did not come to it: ${trouble}` };
      record({ ...result, client });
      expect({ id, ok: result.ok, problem: result.problem ?? "" }).toEqual({ id, ok: true, problem: "" });
      return undefined;
    });
  });
}

function withoutPython(): void {
  process.stderr.write(`${NO_PYTHON}\n`);
  if (process.env["CI"] || process.env["CONFORMANCE_RESULTS"]) throw new Error(NO_PYTHON);
}

function readLines(client: string, lines: readonly string[]): CaseResult[] {
  return lines
    .map((line) => JSON.parse(line) as CaseResult & { version?: string })
    .filter((line) => {
      if (line.version !== undefined) recordVersion(client, line.version);
      return line.version === undefined;
    });
}

async function runScript([program = "", ...options]: readonly string[], input: string, timeoutMs: number) {
  const child = spawn(program, options, { stdio: ["pipe", "pipe", "pipe"] });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    texts.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    texts.err += chunk;
  });
  child.stdin.end(input);
  const lastResort = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const [code] = await once(child, "close");
  clearTimeout(lastResort);
  const lines = texts.out.split("\n").filter((line) => line.startsWith("{"));
  return { lines, trouble: `it ended with ${code}: ${texts.err.slice(-2_000)}` };
}

/** A Python script of this folder. */
export function python(script: string): () => readonly string[] | undefined {
  return () => {
    const program = process.env["TEST_PYTHON"];
    return program === undefined ? undefined : [program, join(import.meta.dirname, "python", script)];
  };
}
