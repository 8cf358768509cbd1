import {
  closeSync,
  fdatasync,
  fsync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * Files that have to survive, handed in, so that the simulation can drop what was not synced, tear a write and fill up. Errors are
 * those of node: a full disk is an error whose `code` is ENOSPC.
 */
export interface Disk {
  /** With its parents; nothing happens when it is there. */
  makeFolder(folder: string): void;
  /** Names, in no order; of a folder that is there. */
  list(folder: string): string[];
  read(path: string): Buffer;
  /** A new file, empty; fails with EEXIST when there is one. Its name is safe only after `syncFolder`. */
  create(path: string): DiskFile;
  /** A file that is there, to go on at its end. */
  append(path: string): DiskFile;
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Makes names safe that were created, renamed or removed. */
  syncFolder(folder: string): Promise<void>;
}

export interface DiskFile {
  /** All of it or an error; after an error a part may have been written. Returns when the operating system has it: a dead process loses nothing. */
  write(bytes: Uint8Array): void;
  truncate(size: number): void;
  /** Resolves when everything written before the call survives a power cut. After an error nobody knows what is safe: do not ask again. */
  datasync(): Promise<void>;
  close(): void;
}

const datasync = promisify(fdatasync);
const sync = promisify(fsync);

/** Writes are made at once, not in a thread: into the page cache they take microseconds, and a hand-over to a thread takes more. */
export const systemDisk: Disk = {
  makeFolder: (folder) => void mkdirSync(folder, { recursive: true, mode: 0o700 }),
  list: (folder) => readdirSync(folder),
  read: (path) => readFileSync(path),
  create: (path) => systemFile(openSync(path, "ax", 0o600)),
  append: (path) => systemFile(openSync(path, "a", 0o600)),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => rmSync(path),
  syncFolder: async (folder) => {
    const handle = await open(folder, "r");
    try {
      await sync(handle.fd);
    } finally {
      await handle.close();
    }
  },
};

function systemFile(descriptor: number): DiskFile {
  return {
    write: (bytes) => {
      // A nearly full disk takes a part and only then says ENOSPC.
      for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
    },
    truncate: (size) => ftruncateSync(descriptor, size),
    datasync: () => datasync(descriptor),
    close: () => closeSync(descriptor),
  };
}

/** Whether an error of a disk says that there is no room. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}
