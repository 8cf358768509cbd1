import type { Io, Output } from "./io.ts";
import { run } from "./run.ts";

/** An in-memory terminal, or in-memory pipes. */
export interface FakeIoOptions {
  readonly terminal?: boolean;
  readonly columns?: number;
  /** stderr goes to a file although the rest is a terminal. */
  readonly stderrPiped?: boolean;
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
  /** Addresses that a browser was asked to open. */
  readonly opened: readonly string[];
  /** Programs that would have taken the place of this process. */
  readonly became: readonly Became[];
}

export interface Became {
  readonly file: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const texts = { stdout: "", stderr: "" };
  const asked: string[] = [];
  const opened: string[] = [];
  const became: Became[] = [];
  const answers = [...(options.answers ?? [])];
  const output = (name: "stdout" | "stderr"): Output => ({
    isTerminal: options.terminal === true && !(name === "stderr" && options.stderrPiped),
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
      choose: async (question, choices) => {
        const wanted = String(await answer(question));
        const found = choices.find(({ name, value }) => value === wanted || name.startsWith(wanted));
        if (!found) throw new Error(`"${wanted}" is not among ${choices.map(({ name }) => name).join("; ")}`);
        return found.value;
      },
    },
    nowMs: options.nowMs ?? Date.now,
    openUrl: (url) => opened.push(url) > 0,
    become: (file, words, env) => {
      became.push({ file, words, env });
    },
    signal: options.signal ?? new AbortController().signal,
    out: () => texts.stdout,
    err: () => texts.stderr,
    asked,
    opened,
    became,
  };
}

export interface Outcome {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
  readonly asked: readonly string[];
  readonly opened: readonly string[];
  readonly became: readonly Became[];
}

/** Runs one command line and returns its exit code and output. */
export async function gwWith(words: readonly string[], options: FakeIoOptions = {}): Promise<Outcome> {
  const io = fakeIo(options);
  const exit = await run(words, io);
  return { exit, out: io.out(), err: io.err(), asked: io.asked, opened: io.opened, became: io.became };
}
