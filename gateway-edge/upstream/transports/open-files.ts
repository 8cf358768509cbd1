import { readFileSync } from "node:fs";

/** Open files beside calls: the journal, the store's connection, listeners, logs. */
const OTHER_FILES = 256;
const CONNECTIONS_MIN = 16;

/** How many connections one upstream may have: the configured number, but each call needs two open files, its client's and its upstream's. */
export function connectionsWithin(wanted: number, openFilesMax: number | undefined): number {
  if (openFilesMax === undefined) return wanted;
  return Math.min(wanted, Math.max(CONNECTIONS_MIN, Math.floor((openFilesMax - OTHER_FILES) / 2)));
}

/** The open-files limit of this process, if the system has one. */
export function readOpenFilesMax(): number | undefined {
  try {
    return openFilesIn(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return undefined;
  }
}

/** From the text of /proc/self/limits; undefined: there is no limit, or it cannot be read. */
export function openFilesIn(text: string): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
