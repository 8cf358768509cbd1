import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { inspectUpdate } from "../coordinator/updates/inspect-update.ts";
import { sha256, type WrittenAnswer } from "./answer.ts";

/** What of an answer comes back when its parameters stay in the folder of blobs. */
export interface KeptAnswer {
  readonly sha256: string;
  readonly bytes: number;
  /** As inspectUpdate says; absent where it refuses the parameters, and whoever asks is to look himself. */
  readonly layout?: string | undefined;
  /** The answer's other fields, as JSON. */
  readonly head: string;
}

/** Writes an answer's parameters under their hash, from the thread that made them: so they need not pass through another's memory. */
export function keepAnswer({ body, head = "{}" }: WrittenAnswer, folder: string): KeptAnswer {
  const { sha256: told } = JSON.parse(head) as { sha256?: unknown };
  const name = typeof told === "string" ? told : sha256([body]);
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
