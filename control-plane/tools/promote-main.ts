import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import { systemRandom as random } from "../../common/random.ts";
import { Copies } from "../promote/copies.ts";
import { promote } from "../promote/promote.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import { openMongoStore } from "../stores/mongo/store.ts";
import { storeFolder } from "./store-folder.ts";
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
    const limits = { transactionMs: LIMIT_MS, socketMs: LIMIT_MS, readMs: LIMIT_MS };
    const target = await openMongoStore({ uri, database: option("database"), ...limits });
    try {
      const stores = {
        source,
        target,
        copies: new Copies(folder, openEmbeddedStore),
        users: () => source.otherProcesses(),
        database: option("database"),
      };
      const promoted = await promote({ ...stores, clock, random, progress, signal });
      return { ...promoted, secretFile: existsSync(join(option("from"), "secret.key")) };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
});
