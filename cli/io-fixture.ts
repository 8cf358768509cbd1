import type { Io, Output } from "./io.ts";
import { run } from "./run.ts";

/** An in-memory terminal, or in-memory pipes. */
export interface FakeIoOptions {
  readonly terminal?: boolean;
  readonly columns?: number;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Answers to prompts, in order. */
  readonly answers?: readonly (string | boolean)[];
  readonly signal?: AbortSignal;
  readonly nowMs?: () => number;
}

export interface FakeIo extends Io {
  readonly out: () => string;
  readonly err: () => string;
  /** Every prompt so far. */
  readonly asked: readonly string[];
}

export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const texts = { stdout: "", stderr: "" };
  const asked: string[] = [];
  const answers = [...(options.answers ?? [])];
  const output = (name: "stdout" | "stderr"): Output => ({
    isTerminal: options.terminal === true,
    columns: options.columns ?? 200,
    write: (text) => {
      texts[name] += text;
    },
  });
  const answer = async (question: string) => {
    asked.push(question);
    const next = answers.shift();
    if (next === undefined) throw new Error(`no answer for the prompt "${question}"`);
    return next;
  };
  return {
    stdout: output("stdout"),
    stderr: output("stderr"),
    stdinIsTerminal: options.terminal === true,
    readStdin: async () => options.stdin ?? "",
    env: { NO_COLOR: "1", ...options.env },
    prompts: {
      ask: async (question) => String(await answer(question)),
      askSecret: async (question) => String(await answer(question)),
      confirm: async (question) => (await answer(question)) === true,
    },
    nowMs: options.nowMs ?? Date.now,
    signal: options.signal ?? new AbortController().signal,
    out: () => texts.stdout,
    err: () => texts.stderr,
    asked,
  };
}

export interface Outcome {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
  readonly asked: readonly string[];
}

/** Runs one command line and returns its exit code and output. */
export async function gwWith(words: readonly string[], options: FakeIoOptions = {}): Promise<Outcome> {
  const io = fakeIo(options);
  const exit = await run(words, io);
  return { exit, out: io.out(), err: io.err(), asked: io.asked };
}
