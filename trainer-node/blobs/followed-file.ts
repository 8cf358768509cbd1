import { createHash } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { type FoundTensors, passingTensors } from "./passing-tensors.ts";
import { readInto } from "./tensor-file.ts";

/** A file that one thread writes and another reads meanwhile. */
export interface FollowedFile {
  readonly path: string;
  /** How long it will be, where that is known. */
  readonly bytes: number | undefined;
  readonly progress: SharedArrayBuffer;
}

export interface FileDigest {
  readonly sha256: string;
  readonly found: FoundTensors | undefined;
}

/** What its writer tells of it. One number for both, so that whoever waits for it to change misses neither. */
export interface FileProgress {
  readonly memory: SharedArrayBuffer;
  add(bytes: number): void;
  end(): void;
}

export function createProgress(): FileProgress {
  const memory = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const cell = new BigInt64Array(memory);
  const tell = (value: bigint): void => {
    Atomics.store(cell, 0, value);
    Atomics.notify(cell, 0);
  };
  let written = 0n;
  return {
    memory,
    add: (bytes) => {
      written += BigInt(bytes);
      tell(written);
    },
    end: () => tell(-1n - written),
  };
}

const readProgress = (told: bigint): { written: number; isEnded: boolean } =>
  told < 0n ? { written: Number(-1n - told), isEnded: true } : { written: Number(told), isEnded: false };

/** Read at a time: little enough to be in the cache still when it is looked at a second time. */
const STEP_BYTES = 2 ** 18;
/** One for all files that a thread follows: it is done with a step before it waits. */
const step = new Uint8Array(STEP_BYTES);

export async function followFile({ path, bytes, progress }: FollowedFile): Promise<FileDigest> {
  const cell = new BigInt64Array(progress);
  const hash = createHash("sha256");
  const passing = passingTensors(bytes);
  const file = openSync(path, "r");
  try {
    for (let at = 0; ; ) {
      const told = Atomics.load(cell, 0);
      const { written, isEnded } = readProgress(told);
      while (written - at >= STEP_BYTES || (isEnded && at < written)) {
        const piece = step.subarray(0, Math.min(STEP_BYTES, written - at));
        readInto(file, at, piece);
        hash.update(piece);
        passing.add(piece);
        at += piece.byteLength;
      }
      if (isEnded) return { sha256: hash.digest("hex"), found: passing.found() };
      const wait = Atomics.waitAsync(cell, 0, told);
      if (wait.async) await wait.value;
    }
  } finally {
    closeSync(file);
  }
}
