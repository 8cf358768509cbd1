import { existsSync } from "node:fs";
import { join } from "node:path";
import { promote } from "../promote/promote.ts";
import { type FileStore, openEmbeddedStore } from "../stores/embedded/store.ts";
import { openMongoStore } from "../stores/mongo/store.ts";
import { runTool, ToolProblem } from "./tool.ts";

/** A transaction of many rows may take longer than one of a call. */
const LIMIT_MS = 120_000;

// `gw admin promote` starts it. The address is not an option, because other users of the machine see options.
await runTool(["from", "database"], async ({ option, progress, signal }) => {
  const folder = storeFolder(option("from"));
  const uri = process.env["MONGODB_URI"];
  if (!uri) throw new ToolProblem("MONGODB_URI is required.");
  const source = openEmbeddedStore(folder);
  try {
    requireUnused(source, folder);
    const limits = { transactionMs: LIMIT_MS, socketMs: LIMIT_MS, readMs: LIMIT_MS };
    const target = await openMongoStore({ uri, database: option("database"), ...limits });
    try {
      const promoted = await promote({ source, target, progress, signal });
      return { ...promoted, secretFile: existsSync(join(option("from"), "secret.key")) };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
});

function storeFolder(from: string): string {
  const found = [join(from, "control-plane"), from].find((folder) => existsSync(join(folder, "store.lmdb")));
  if (found === undefined) throw new ToolProblem(`${from} has no embedded store: neither control-plane/store.lmdb nor store.lmdb.`);
  return found;
}

function requireUnused(store: FileStore, folder: string): void {
  const [process] = store.otherProcesses();
  if (process === undefined) return;
  throw new ToolProblem(`${folder} is in use by process ${process}. Stop the platform first; nothing was changed.`);
}
