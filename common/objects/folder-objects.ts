import { createReadStream } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { uniqueName } from "../random.ts";
import { syncFolder } from "../sync-folder.ts";
import { type ListedObject, type ObjectStore, requireKey } from "./object-store.ts";

const PARTIAL = ".partial-";

/** Objects as files of a folder, which all processes that share it mount. */
export function openFolderObjects(folder: string): ObjectStore {
  const pathOf = (key: string): string => join(folder, requireKey(key));
  return {
    name: `the folder ${folder}`,
    put: async (key, file) => {
      const path = pathOf(key);
      const partial = join(dirname(path), `${PARTIAL}${uniqueName()}`);
      const firstMade = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      try {
        await copyFile(file.path, partial);
        await flush(partial);
        await rename(partial, path);
        await syncNames(path, firstMade);
      } finally {
        await rm(partial, { force: true });
      }
    },
    size: async (key) => (await unlessGone(stat(pathOf(key))))?.size,
    open: async (key) => {
      const path = pathOf(key);
      const found = await unlessGone(stat(path));
      return found && createReadStream(path);
    },
    list: (prefix) => walk(folder, prefix),
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}

/** The value; undefined if the file or folder does not exist. What cannot be read is not taken for missing: archives would be written twice. */
async function unlessGone<Value>(found: Promise<Value>): Promise<Value | undefined> {
  try {
    return await found;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}

async function flush(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Makes the name of a file durable, and the names of the folders that were made for it. */
async function syncNames(path: string, firstMade: string | undefined): Promise<void> {
  const last = dirname(firstMade ?? path);
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === last) return;
  }
}

/** A prefix ends in a slash or within a name, as in a bucket. */
async function* walk(folder: string, prefix: string): AsyncGenerator<ListedObject> {
  const within = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const entries = await unlessGone(readdir(join(folder, within), { recursive: true, withFileTypes: true }));
  for (const entry of entries ?? []) {
    const path = join(entry.parentPath, entry.name);
    const key = path.slice(join(folder, "/").length);
    if (!entry.isFile() || entry.name.startsWith(PARTIAL) || !key.startsWith(prefix)) continue;
    const found = await unlessGone(stat(path));
    if (found) yield { key, modifiedMs: found.mtimeMs };
  }
}
