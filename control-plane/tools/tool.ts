import { parseArgs } from "node:util";
import { toJson } from "../../common/json.ts";

/** What a tool works with. */
export interface ToolCall {
  /** Value of an option of the command line, which must be there. */
  option(name: string): string;
  /** Reports how far the work is. */
  progress(state: object): void;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** A reason for the operator why a tool cannot do its work. Other errors are mistakes of ours and have a stack. */
export class ToolProblem extends Error {}

/**
 * Runs a tool that `gw admin` starts as a process of its own, because the command line sees nothing of the control plane: it writes a line of
 * JSON for each progress, and one with the result or the problem at the end.
 */
export async function runTool(names: readonly string[], work: (call: ToolCall) => Promise<object>): Promise<void> {
  const print = (line: object) => process.stdout.write(`${toJson(line)}\n`);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort(new ToolProblem("The work was interrupted.")));
  try {
    const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" as const }])) });
    const option = (name: string) => {
      const value = values[name];
      if (typeof value !== "string" || value === "") throw new ToolProblem(`--${name} is required.`);
      return value;
    };
    print({ result: await work({ option, progress: (progress) => print({ progress }), signal: stop.signal }) });
  } catch (thrown) {
    process.exitCode = 1;
    if (thrown instanceof ToolProblem) print({ problem: thrown.message });
    else process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
  }
}
