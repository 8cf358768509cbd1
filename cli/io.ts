import { createPrompts, type Prompts } from "./prompts.ts";

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Characters in a line; only of a terminal. */
  readonly columns: number;
}

/** Everything outside the program: handed in, so that a test can be the terminal. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdinIsTerminal: boolean;
  /** All of standard input, read once. */
  readStdin(): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly prompts: Prompts;
  nowMs(): number;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
}

const COLUMNS_DEFAULT = 80;

export function processIo(): Io {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  // A reader that has seen enough (`gw logs | head`) is no failure of ours.
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
