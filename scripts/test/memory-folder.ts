import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** What all tests together have in files at one time, with room to spare. */
const ROOM_BYTES = 8 * 2 ** 30;

interface MemoryFolder {
  /** For the environment of a run: TMPDIR, or nothing. */
  readonly environment: Readonly<Record<string, string>>;
  remove(): void;
}

/**
 * A folder in memory for the files of tests, where the machine has room for them: they make stores by the hundred, and each waits for the
 * disk at every commit. TMPDIR of the caller's own is left alone.
 */
export function openMemoryFolder(): MemoryFolder {
  if (process.env["TMPDIR"] || !hasRoom()) return { environment: {}, remove: () => {} };
  const folder = mkdtempSync(join(MEMORY, "tributary-test-"));
  return { environment: { TMPDIR: folder }, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY) || freemem() < 1.5 * ROOM_BYTES) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}
