import { Copies } from "../promote/copies.ts";
import { readMark, removeMark } from "../promote/mark.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import { storeFolder } from "./store-folder.ts";
import { runTool, ToolProblem } from "./tool.ts";

// `gw admin promote --cancel` starts it: the folder is used again, and copies that were made for a promotion are removed.
await runTool(["from"], async ({ option }) => {
  const folder = storeFolder(option("from"));
  const store = openEmbeddedStore(folder);
  try {
    const mark = await readMark(store);
    const [user] = store.otherProcesses();
    if (user !== undefined) throw new ToolProblem(`${folder} is in use by process ${user}. Stop it first; nothing was changed.`);
    if (mark) await removeMark(store);
    await new Copies(folder, openEmbeddedStore).remove();
    return { folder, database: mark?.database ?? null };
  } finally {
    await store.close();
  }
});
