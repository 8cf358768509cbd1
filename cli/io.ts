import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createPrompts, type Prompts } from "./prompts.ts";

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Width in characters; meaningful for a terminal only. */
  readonly columns: number;
}

/** The process environment as a port, so that tests can supply their own. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdinIsTerminal: boolean;
  /** All of standard input, read once. */
  readStdin(): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly prompts: Prompts;
  nowMs(): number;
  /** Opens an address in the user's browser; false if this machine has none. */
  openUrl(url: string): boolean;
  /** Runs a program in place of this process, so that signals and the exit code are its own. */
  become(file: string, words: readonly string[], env: Readonly<Record<string, string | undefined>>): void;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}

const COLUMNS_DEFAULT = 80;
/** Of Ctrl-C, of a service manager, and of a terminal that closes: a command cleans up in all cases. The second of a kind ends it at once. */
const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function processIo(): Io {
  const interrupt = new AbortController();
  for (const name of ENDING_SIGNALS) process.once(name, () => interrupt.abort());
  // A closed pipe (`gw logs | head`) is not an error.
  process.stdout.on("error", () => process.exit(0));
  let input: Promise<string> | undefined;
  return {
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    stdinIsTerminal: process.stdin.isTTY === true,
    readStdin: () => {
      input ??= readAll();
      return input;
    },
    env: process.env,
    prompts: createPrompts(),
    nowMs: Date.now,
    openUrl,
    become,
    signal: interrupt.signal,
  };
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    write: (text) => stream.write(text),
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || COLUMNS_DEFAULT;
    },
  };
}

async function readAll(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  return text;
}

/** Programs that open an address in a browser, by platform. */
const OPENERS: Readonly<Record<string, string>> = { darwin: "open", linux: "xdg-open" };

function openUrl(url: string): boolean {
  const opener = OPENERS[process.platform];
  const hasScreen = process.platform !== "linux" || Boolean(process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"]);
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const file = folders.map((folder) => join(folder, opener ?? "")).find((path) => existsSync(path));
  if (opener === undefined || !hasScreen || file === undefined) return false;
  spawn(file, [url], { stdio: "ignore", detached: true }).unref();
  return true;
}

function become(file: string, words: readonly string[], env: Readonly<Record<string, string | undefined>>): void {
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  process.execve?.(file, [file, ...words], Object.fromEntries(defined));
}
