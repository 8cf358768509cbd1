import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
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
    const sent: Sent = { bytes: 0 };
    const [answer] = await Promise.all([readAll(child.stdout, () => answerBytesMax(sent, limits)), send(child.stdin, call, sent), closed]);
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

/** How much a strategy has been given so far. */
interface Sent {
  bytes: number;
}

/** A model like its updates, and a state that may hold all of them as wider numbers. */
const TIMES_MOST = 4;
const MARGIN_BYTES = 16 * MEBIBYTE;

/**
 * How much a strategy may answer. The limit of its memory is none of what it writes, and the memory that its answer fills is the coordinator's,
 * which all organizations share. It answers when it has read everything.
 */
const answerBytesMax = ({ bytes }: Sent, { memoryMb }: StrategyLimits): number =>
  Math.min(TIMES_MOST * bytes + MARGIN_BYTES, memoryMb * MEBIBYTE);

async function send(stdin: Writable, { own, header, blobs }: StrategyCall, sent: Sent): Promise<void> {
  // A process that ends early does not read the rest; its answer, or the lack of one, has the reason.
  stdin.on("error", () => {});
  const write = async (bytes: Uint8Array): Promise<void> => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeBigUInt64LE(BigInt(bytes.byteLength));
    sent.bytes += bytes.byteLength;
    stdin.write(length);
    if (!stdin.write(bytes) && !stdin.destroyed) await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  };
  await write(Buffer.from(JSON.stringify({ ...header, source: own.source })));
  for await (const blob of blobs) await write(blob);
  stdin.end();
}

async function readAll(stdout: Readable, bytesMax: () => number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax()) throw new StrategyProblem(`its answer has more than ${bytesMax()} bytes, the most for what it was given`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const ERROR_CHARACTERS_MAX = 500;
/** Parameters and a state. */
const BLOBS_MAX = 2;

/** The header of an answer. A strategy can write to the stream of its answers what it likes. */
const answerHeader = z.union([
  z.object({ error: z.string().transform((text) => text.slice(0, ERROR_CHARACTERS_MAX)) }),
  z.object({ blobs: z.array(z.int().nonnegative()).max(BLOBS_MAX) }),
]);

function readAnswer(answer: Buffer): Uint8Array[] {
  if (answer.byteLength < LENGTH_BYTES)
    throw new StrategyProblem(
      "its process ended without an answer, as one beyond its memory limit does (STRATEGY_MEMORY_MB of the coordinator)",
    );
  const end = LENGTH_BYTES + Number(answer.readBigUInt64LE(0));
  const header = readHeader(answer, end);
  if ("error" in header) throw new StrategyProblem(header.error);
  const ends = header.blobs.map((_, index) => end + header.blobs.slice(0, index + 1).reduce((sum, bytes) => sum + bytes, 0));
  if ((ends.at(-1) ?? end) > answer.byteLength) throw unreadable();
  return header.blobs.map((bytes, index) => answer.subarray((ends[index] as number) - bytes, ends[index]));
}

function readHeader(answer: Buffer, end: number): z.output<typeof answerHeader> {
  if (end > answer.byteLength) throw unreadable();
  try {
    return answerHeader.parse(JSON.parse(answer.toString("utf8", LENGTH_BYTES, end)));
  } catch {
    throw unreadable();
  }
}

const unreadable = (): StrategyProblem =>
  new StrategyProblem("its answer cannot be read: a strategy returns its result and writes nothing to its standard output");
