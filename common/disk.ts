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
 * The port for durable files, so that the simulation can lose unsynced data, tear a write and fill the disk. Errors are
 * those of node: a full disk is an error whose `code` is ENOSPC.
 */
export interface Disk {
  /** Creates the folder and its parents; does nothing if it exists. */
  makeFolder(folder: string): void;
  /** File names of an existing folder, in no particular order. */
  list(folder: string): string[];
  read(path: string): Buffer;
  /** Creates an empty file; fails with EEXIST if it exists. Its name is durable only after `syncFolder`. */
  create(path: string): DiskFile;
  /** Opens an existing file for appending. */
  append(path: string): DiskFile;
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Makes created, renamed and removed names durable. */
  syncFolder(folder: string): Promise<void>;
}

export interface DiskFile {
  /** Writes all bytes or throws; after an error a part may be written. On return the operating system has the data, so a process crash loses nothing. */
  write(bytes: Uint8Array): void;
  truncate(size: number): void;
  /** Resolves when everything written before the call survives a power cut. After an error it is unknown what is durable: do not retry. */
  datasync(): Promise<void>;
  close(): void;
}

const datasync = promisify(fdatasync);
const sync = promisify(fsync);

/** Writes are synchronous: a write to the page cache takes microseconds, less than a hand-over to a thread. */
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
      // A nearly full disk first accepts a part and then fails with ENOSPC.
      for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
    },
    truncate: (size) => ftruncateSync(descriptor, size),
    datasync: () => datasync(descriptor),
    close: () => closeSync(descriptor),
  };
}

/** Whether an error means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}
