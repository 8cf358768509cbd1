import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { printLine, printProblems, seconds } from "./print-line.ts";

const root = resolve(import.meta.dirname, "../..");
const SUITE = "gateway-edge/credit/journal/crash.test.ts";

/** The suite of the journal: a disk that loses unsynced data, with a power cut at every step of a script of 500 calls. */
export async function faultPowerCut(): Promise<void> {
  const startedMs = performance.now();
  const jest = promisify(execFile)(process.execPath, [join(root, "node_modules/jest/bin/jest.js"), SUITE], { cwd: root });
  const output = await jest.then(
    ({ stderr }) => ({ ok: true, text: stderr }),
    (failed: { stderr?: string }) => ({ ok: false, text: failed.stderr ?? String(failed) }),
  );
  const count = /^Tests:.*$/m.exec(output.text)?.[0] ?? "no result";
  printLine("I17, I19 power cut at every step", {
    ok: output.ok,
    figures: `500 calls, ${count}, in ${seconds(performance.now() - startedMs)}`,
  });
  if (!output.ok) printProblems(output.text.split("\n"));
}
