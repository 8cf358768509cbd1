import { existsSync, readFileSync, statSync } from "node:fs";

/** The locks of all processes that this one sees; only Linux has it. */
const LOCKS = "/proc/locks";

/** Processes that have the lock file of LMDB open: each holds a shared lock of its first byte until it closes the store or ends. */
export function lockHolders(lockFile: string): number[] {
  if (!existsSync(LOCKS)) return [];
  const { ino } = statSync(lockFile);
  // Such as `1: POSIX  ADVISORY  READ 25459 fe:00:10150393 0 0`. The device is not compared: overlays show another one here.
  const locks = readFileSync(LOCKS, "utf8")
    .split("\n")
    .map((line) => line.split(/\s+/));
  return locks
    .filter(
      ([, kind, , mode, , file, from, to]) =>
        kind === "POSIX" && mode === "READ" && file?.endsWith(`:${ino}`) && from === "0" && to === "0",
    )
    .map(([, , , , process]) => Number(process));
}
