import { createHash } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { type FoundTensors, passingTensors } from "./passing-tensors.ts";
import { readInto } from "./tensor-file.ts";

/** A file that one thread writes while another reads it. */
export interface FollowedFile {
  readonly path: string;
  /** The final size, if it is known. */
  readonly bytes: number | undefined;
  readonly progress: SharedArrayBuffer;
}

/** The hash of a file, and its tensors if they could be found while it was read. */
export interface FileDigest {
  readonly sha256: string;
  readonly found: FoundTensors | undefined;
}

/** The writer's progress in shared memory. One number holds the size and the end, so that a waiting reader misses neither. */
export interface FileProgress {
  readonly memory: SharedArrayBuffer;
  add(bytes: number): void;
  end(): void;
}

/** Creates the progress of a file in shared memory. */
export function createProgress(): FileProgress {
  const memory = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const cell = new BigInt64Array(memory);
  const publish = (value: bigint): void => {
    Atomics.store(cell, 0, value);
    Atomics.notify(cell, 0);
  };
  let written = 0n;
  return {
    memory,
    add: (bytes) => {
      written += BigInt(bytes);
      publish(written);
    },
    end: () => publish(-1n - written),
  };
}

const readProgress = (progressValue: bigint): { written: number; isEnded: boolean } =>
  progressValue < 0n ? { written: Number(-1n - progressValue), isEnded: true } : { written: Number(progressValue), isEnded: false };

/** Bytes read at a time: few enough to stay in the cache between hashing and inspection. */
const STEP_BYTES = 2 ** 18;
/** One buffer for all files that a thread follows: a thread finishes a step before it waits. */
const step = new Uint8Array(STEP_BYTES);

/** Hashes and inspects a file while another thread writes it. */
export async function followFile({ path, bytes, progress }: FollowedFile): Promise<FileDigest> {
  const cell = new BigInt64Array(progress);
  const hash = createHash("sha256");
  const passing = passingTensors(bytes);
  const file = openSync(path, "r");
  try {
    for (let at = 0; ; ) {
      const progressValue = Atomics.load(cell, 0);
      const { written, isEnded } = readProgress(progressValue);
      while (written - at >= STEP_BYTES || (isEnded && at < written)) {
        const piece = step.subarray(0, Math.min(STEP_BYTES, written - at));
        readInto(file, at, piece);
        hash.update(piece);
        passing.add(piece);
        at += piece.byteLength;
      }
      if (isEnded) return { sha256: hash.digest("hex"), found: passing.found() };
      const wait = Atomics.waitAsync(cell, 0, progressValue);
      if (wait.async) await wait.value;
    }
  } finally {
    closeSync(file);
  }
}
