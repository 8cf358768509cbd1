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
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
}

const COLUMNS_DEFAULT = 80;

export function processIo(): Io {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
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
