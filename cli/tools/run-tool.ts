import { spawn } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import { fromJson } from "../../common/json.ts";
import { CliError, interrupted } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";

const TOOLS = join(import.meta.dirname, "../../control-plane/tools");
const STDERR_MAX = 4000;

/** A line that a tool writes: how far it is, its result, or why it cannot do its work. */
interface ToolLine {
  readonly progress?: unknown;
  readonly result?: unknown;
  readonly problem?: string;
}

type ToolName = "restore" | "promote" | "unpromote";

interface ToolRun {
  readonly options: Readonly<Record<string, string>>;
  /** Settings that other users of the machine must not see, as they see options. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onProgress?: (progress: unknown) => void;
}

/**
 * Runs a tool of the control plane that works on files of this machine. It is a process of its own: the command line is a client of the HTTP
 * API and loads nothing of the other rooms.
 */
export async function runTool({ io }: Context, name: ToolName, { options, env = {}, onProgress }: ToolRun): Promise<unknown> {
  const words = Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]);
  const child = spawn(process.execPath, [join(TOOLS, `${name}-main${extname(import.meta.filename)}`), ...words], {
    env: { ...process.env, ...io.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => child.kill("SIGINT");
  io.signal.addEventListener("abort", stop, { once: true });
  const closed = once(child, "close");
  let trouble = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    trouble = (trouble + text).slice(-STDERR_MAX);
  });
  let last: ToolLine = {};
  for await (const line of createInterface({ input: child.stdout })) {
    last = fromJson(line) as ToolLine;
    if (last.progress !== undefined) onProgress?.(last.progress);
  }
  await closed;
  io.signal.removeEventListener("abort", stop);
  if (last.result !== undefined) return last.result;
  if (io.signal.aborted) throw interrupted();
  throw new CliError(EXIT.failure, {
    error: last.problem ?? `The tool failed: ${trouble.trim()}`,
    code: `${name.toUpperCase()}_FAILED`,
  });
}
