import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { killChild } from "../../../common/kill-child.ts";
import { programFile } from "../../../common/program-files.ts";
import type { OwnStrategy } from "../../../common/strategies/shared/own-strategy.ts";

/** Limits of the processes of own strategies. */
export interface StrategyLimits {
  readonly python: string;
  readonly deadlineMs: number;
  readonly memoryMb: number;
}

/** What a strategy gets: a JSON header, and blobs in the order base, state, updates; an empty one is absent. */
export interface StrategyCall {
  readonly own: OwnStrategy;
  readonly header: object;
  readonly blobs: AsyncIterable<Uint8Array>;
}

const MEBIBYTE = 1024 * 1024;
const LENGTH_BYTES = 8;
const folder = import.meta.dirname;
const SDK = resolve(folder, "../../../sdk/python/src");
const PROGRAM = resolve(folder, programFile("run-strategy.ts"));
const PACKAGE = resolve(folder, "../../../package.json");

type Command = (limits: StrategyLimits) => readonly string[];

/** How the process of each language is started. Node's permission model keeps TypeScript from files, processes and threads. */
const COMMANDS: Readonly<Record<OwnStrategy["language"], Command>> = {
  python: ({ python, memoryMb }) => [python, "-I", "-B", resolve(folder, "run-strategy.py"), String(memoryMb * MEBIBYTE), SDK],
  typescript: ({ memoryMb }) => [
    ...["/bin/sh", "-c", `ulimit -d ${memoryMb * 1024}; exec "$0" "$@"`, process.execPath],
    ...["--permission", `--allow-fs-read=${PROGRAM}`, `--allow-fs-read=${PACKAGE}`],
    ...["--no-warnings", `--max-old-space-size=${memoryMb}`, PROGRAM],
  ],
};

/**
 * Runs an own strategy in a new process, which has no variable of this one's environment but PATH. Throws StrategyProblem with a text for
 * the federation's owner.
 */
export async function runStrategy(call: StrategyCall, limits: StrategyLimits, signal: AbortSignal): Promise<Uint8Array[]> {
  const [program = "", ...args] = COMMANDS[call.own.language](limits);
  const env = { PATH: process.env["PATH"] ?? "", PYTHONHASHSEED: "0", OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" };
  const child = spawn(program, args, { cwd: "/", env, stdio: ["pipe", "pipe", "ignore"] }) as StrategyChild;
  const late = AbortSignal.timeout(limits.deadlineMs);
  const stop = () => killChild(child);
  const ended = AbortSignal.any([signal, late]);
  ended.addEventListener("abort", stop, { once: true });
  try {
    const closed = once(child, "close");
    const [answer] = await Promise.all([readAll(child.stdout), send(child.stdin, call), closed]);
    return readAnswer(answer);
  } catch (thrown) {
    signal.throwIfAborted();
    if ((thrown as { code?: unknown }).code === "ENOENT")
      throw new StrategyProblem(`${program} is not there (STRATEGY_PYTHON of the coordinator)`);
    if (late.aborted) throw new StrategyProblem(`it took longer than ${limits.deadlineMs} ms (STRATEGY_MS_MAX of the coordinator)`);
    throw thrown;
  } finally {
    ended.removeEventListener("abort", stop);
    stop();
  }
}

type StrategyChild = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

/** What an own strategy did wrong. */
export class StrategyProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StrategyProblem";
  }
}

async function send(stdin: Writable, { own, header, blobs }: StrategyCall): Promise<void> {
  // A process that ends early does not read the rest; its answer, or the lack of one, has the reason.
  stdin.on("error", () => {});
  const write = async (bytes: Uint8Array): Promise<void> => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeBigUInt64LE(BigInt(bytes.byteLength));
    stdin.write(length);
    if (!stdin.write(bytes) && !stdin.destroyed) await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  };
  await write(Buffer.from(JSON.stringify({ ...header, source: own.source })));
  for await (const blob of blobs) await write(blob);
  stdin.end();
}

async function readAll(stdout: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdout) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function readAnswer(answer: Buffer): Uint8Array[] {
  if (answer.byteLength < LENGTH_BYTES)
    throw new StrategyProblem(
      "its process ended without an answer, as one beyond its memory limit does (STRATEGY_MEMORY_MB of the coordinator)",
    );
  const end = LENGTH_BYTES + Number(answer.readBigUInt64LE(0));
  const { error, blobs } = JSON.parse(answer.toString("utf8", LENGTH_BYTES, end)) as { error?: string; blobs: number[] };
  if (error !== undefined) throw new StrategyProblem(error);
  const ends = blobs.map((_, index) => end + blobs.slice(0, index + 1).reduce((sum, bytes) => sum + bytes, 0));
  return blobs.map((bytes, index) => answer.subarray((ends[index] as number) - bytes, ends[index]));
}
