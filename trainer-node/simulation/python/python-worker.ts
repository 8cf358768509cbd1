import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { killChild } from "../../../common/kill-child.ts";
import { type Frame, readFrames } from "./frames.ts";

const SDK = resolve(import.meta.dirname, "../../../sdk/python/src");
/** Each process computes on one core; libraries that start a thread for each core would only get into each other's way. */
const ONE_CORE = { OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1", MKL_NUM_THREADS: "1" };

/** A Python process with the functions of one file. It runs one call at a time. */
export interface PythonWorker {
  ask(header: object): Promise<Frame>;
  kill(): void;
}

/** Starts the process; it loads the file before it takes the first call. */
export function startPythonWorker({ python, file }: { python: string; file: string }): PythonWorker {
  let waiting: { resolve(frame: Frame): void; reject(error: Error): void } | undefined;
  let ended: Error | undefined;
  const onFrame = (frame: Frame): void => {
    waiting?.resolve(frame);
    waiting = undefined;
  };
  const end = (error: Error): void => {
    ended ??= error;
    waiting?.reject(error);
    waiting = undefined;
  };
  const child = startPythonProcess({ python, file, module: "worker", args: [], onFrame, onEnd: end });
  return {
    ask: (header) =>
      new Promise((fulfill, reject) => {
        if (ended) return reject(ended);
        waiting = { resolve: fulfill, reject };
        child.send(header);
      }),
    kill: child.kill,
  };
}

/** A Python process of the SDK that receives JSON headers and answers frames. */
export interface PythonProcess {
  send(header: object): void;
  /** Ends its input, so that it ends by itself. */
  finish(): void;
  kill(): void;
}

/** Starts a module of the SDK with the file of functions. */
export function startPythonProcess({
  python,
  file,
  module,
  args,
  onFrame,
  onEnd,
}: {
  python: string;
  file: string;
  module: string;
  args: readonly string[];
  onFrame: (frame: Frame) => void;
  onEnd: (reason: Error) => void;
}): PythonProcess {
  const path = [SDK, process.env["PYTHONPATH"]].filter((folder) => folder !== undefined).join(":");
  const child = spawn(python, ["-m", `tributary_participant.${module}`, resolve(file), ...args], {
    env: { ...ONE_CORE, ...process.env, PYTHONPATH: path },
    stdio: ["pipe", "pipe", "inherit"],
  }) as ChildProcess & { stdin: Writable; stdout: Readable };
  child.stdout.on("data", readFrames(onFrame));
  child.once("error", (cause) => onEnd(new Error(`${python} cannot be started: ${cause.message}`)));
  child.once("close", (code, signal) => onEnd(new Error(`the Python process of ${file} ended (${signal ?? code}); its errors are above`)));
  // The reason of a broken pipe comes with the end of the process.
  child.stdin.on("error", () => {});
  return {
    send: (header) => {
      const text = Buffer.from(JSON.stringify(header));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.byteLength);
      child.stdin.write(Buffer.concat([length, text]));
    },
    finish: () => child.stdin.end(),
    kill: () => killChild(child),
  };
}
