import { readFileSync } from "node:fs";

/** What a process needs beside its calls: the journal, the store's connection, listeners, logs. */
const OTHER_FILES = 256;
const CONNECTIONS_MIN = 16;

/** How many connections one upstream may have: as many as are set, but a call is two open files, its client's and its upstream's. */
export function connectionsWithin(wanted: number, openFilesMax: number | undefined): number {
  if (openFilesMax === undefined) return wanted;
  return Math.min(wanted, Math.max(CONNECTIONS_MIN, Math.floor((openFilesMax - OTHER_FILES) / 2)));
}

/** The limit this process runs under, where the system says it. */
export function readOpenFilesMax(): number | undefined {
  try {
    return openFilesIn(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return undefined;
  }
}

/** Of the text of /proc/self/limits; undefined: it has no limit, or none that can be read. */
export function openFilesIn(text: string): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
