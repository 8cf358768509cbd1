import { existsSync } from "node:fs";
import { join } from "node:path";
import { ToolProblem } from "./tool.ts";

/** Folder of the embedded store in a DATA_DIR, which may also be given itself. */
export function storeFolder(from: string): string {
  const found = [join(from, "control-plane"), from].find((folder) => existsSync(join(folder, "store.lmdb")));
  if (found === undefined) throw new ToolProblem(`${from} has no embedded store: neither control-plane/store.lmdb nor store.lmdb.`);
  return found;
}
