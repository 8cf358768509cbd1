import { execFileSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../../helpers/api.ts";
import { type Arena, openArena } from "./arena.ts";
import type { Verdict } from "./checker.ts";

export interface FullDiskReport extends Verdict {
  /** The error that a new call received while the disk was full. */
  readonly refusal: string;
  readonly refusedStatus: number;
  /** Calls that were running when the disk was full and reached their end all the same. */
  readonly endedWhileFull: number;
  /** From room on the disk to the next answer. */
  readonly backAfterMs: number;
}

const DISK_BYTES = 512 * 1024;
const RUNNING = 20;
const PATIENCE_MS = 20_000;

/** A small file system of the edge's own, in a mount namespace: no root is needed, and nothing is left behind. */
const SMALL_DISK = 'mkdir -p "$JOURNAL" && mount -t tmpfs -o size="$SIZE",mode=700 tmpfs "$JOURNAL" && exec "$@"';

/** Whether this machine lets a process have a file system of its own. */
export function canMount(): boolean {
  try {
    execFileSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Fills the disk under a journal while calls run, and empties it again. */
export async function fullDisk(): Promise<FullDiskReport> {
  let journal = "";
  const arena = await openArena({
    creditNano: 1_000_000_000,
    edgeLauncher: (folder) => {
      journal = folder;
      const script = `JOURNAL='${folder}' SIZE=${DISK_BYTES}; ${SMALL_DISK}`;
      return ["unshare", "-rm", "sh", "-c", script, "sh"];
    },
  });
  try {
    await arena.stream({ name: "before", words: 5, betweenMs: 1 });
    const running = Array.from({ length: RUNNING }, (_, index) => arena.stream({ name: `r${index}`, words: 60, betweenMs: 30 }));
    await sleep(600);
    const inside = join(`/proc/${arena.system.edges[0]?.pid}/root`, journal, "filler");
    fill(inside);
    const endedWhileFull = (await Promise.all(running)).filter(({ done, error }) => done && error === undefined).length;
    const refused = await arena.stream({ name: "full", words: 5, betweenMs: 1 });
    const ready = await call(arena.system.url, "GET", "/health/readiness");
    rmSync(inside);
    const backAfterMs = await untilServed(arena);
    const { problems, figures } = await arena.audit();
    const complaints = [
      ...(refused.status === 503 && /disk is full/.test(refused.error ?? "")
        ? []
        : [`a call on a full disk got ${refused.status} ${refused.error}`]),
      ...(ready.status === 503 ? [] : [`readiness is ${ready.status} on a full disk`]),
      ...(endedWhileFull === RUNNING ? [] : [`${RUNNING - endedWhileFull} running calls did not reach their end`]),
    ];
    return {
      figures,
      problems: [...problems, ...complaints],
      refusal: refused.error ?? "",
      refusedStatus: refused.status ?? 0,
      endedWhileFull,
      backAfterMs,
    };
  } finally {
    await arena.close();
  }
}

/** Takes all the room there is. */
function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (let size = 65_536; size >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(size));
      } catch {
        size = Math.floor(size / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}

async function untilServed(arena: Arena): Promise<number> {
  const startedMs = performance.now();
  for (let count = 0; performance.now() - startedMs < PATIENCE_MS; count++) {
    const { done } = await arena.stream({ name: `after${count}`, words: 3, betweenMs: 1 });
    const { status } = await call(arena.system.url, "GET", "/health/readiness");
    if (done && status === 200) return Math.round(performance.now() - startedMs);
    await sleep(50);
  }
  throw new Error(`no call was served ${PATIENCE_MS} ms after there was room again`);
}
