import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { uniqueName } from "../../common/random.ts";
import { joinPieces } from "../codec/pieces.ts";
import { sha256 } from "../operations/answer.ts";

/** Stores a blob from a thread. It gets its name after its bytes are on disk. */
export function keepBlob(folder: string, pieces: readonly Uint8Array[]): string {
  const name = sha256(pieces);
  const partial = join(folder, `.partial-${uniqueName()}`);
  try {
    writeFileSync(partial, joinPieces(pieces), { mode: 0o600, flush: true });
    renameSync(partial, join(folder, name));
    return name;
  } finally {
    rmSync(partial, { force: true });
  }
}
