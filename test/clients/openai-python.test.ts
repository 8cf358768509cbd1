import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type System, startSystem } from "../helpers/system.ts";
import { CASES, prepareClients, printCase } from "./cases.ts";

const python = process.env["TEST_PYTHON"];
const MISSING = "NO PYTHON CLIENT: tests with the official OpenAI client for Python do not run. Set TEST_PYTHON, or use `make test`.";

interface CaseResult {
  id: string;
  ok: boolean;
  problem?: string;
}

let system: System | undefined;
let version = "";
let results = new Map<string, CaseResult>();

beforeAll(async () => {
  if (python === undefined) return;
  system = await startSystem();
  const settings = { ...(await prepareClients(system)), hostedBaseUrl: `${system.hostedUrl}/v1` };
  const [head, ...cases] = (await runScript(python, JSON.stringify(settings))).map((line) => JSON.parse(line));
  version = head.version;
  results = new Map(cases.map((result: CaseResult) => [result.id, result]));
});
afterAll(() => system?.stop());

// One process for all cases: to load the client takes longer than all its calls.
async function runScript(program: string, input: string): Promise<string[]> {
  const child = spawn(program, [join(import.meta.dirname, "openai_client.py")], { stdio: ["pipe", "pipe", "pipe"] });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    texts.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    texts.err += chunk;
  });
  child.stdin.end(input);
  const lastResort = setTimeout(() => child.kill("SIGKILL"), 50_000);
  const [code] = await once(child, "close");
  clearTimeout(lastResort);
  if (code !== 0) throw new Error(`the Python client ended with ${code}: ${texts.err.slice(-2_000)}`);
  return texts.out.trim().split("\n");
}

if (python === undefined) {
  test("without a Python there is a loud line, and a failure where CI is set", () => {
    process.stderr.write(`${MISSING}\n`);
    if (process.env["CI"]) throw new Error(MISSING);
  });
} else {
  test.each(CASES)("the official Python client works as it is: %s", (id) => {
    const result = results.get(id);
    printCase(`openai-python ${version}`, id, result?.ok === true);
    expect(result).toEqual({ id, ok: true });
  });
}
