import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { inspectUpdate } from "../coordinator/updates/inspect-update.ts";
import { sha256, type WrittenAnswer } from "./answer.ts";

/** What a thread returns of an answer whose parameters it stored as a blob. */
export interface StoredAnswer {
  readonly sha256: string;
  readonly bytes: number;
  /** The layout that inspectUpdate found; absent if it refused the parameters, and the caller has to inspect them itself. */
  readonly layout?: string | undefined;
  /** The answer's other fields, as JSON. */
  readonly head: string;
}

/** Stores an answer's parameters as a blob from the thread that made them, so that they do not pass through another thread's memory. */
export function storeAnswer({ body, head = "{}" }: WrittenAnswer, folder: string): StoredAnswer {
  const { sha256: known } = JSON.parse(head) as { sha256?: unknown };
  const name = typeof known === "string" ? known : sha256([body]);
  const path = join(folder, name);
  if (!existsSync(path)) {
    const partial = join(folder, `.partial-${threadId}`);
    writeFileSync(partial, body, { mode: 0o600 });
    renameSync(partial, path);
  }
  return { sha256: name, bytes: body.byteLength, layout: layoutOf(body), head };
}

function layoutOf(body: Uint8Array): string | undefined {
  try {
    return inspectUpdate(body);
  } catch {
    return undefined;
  }
}
