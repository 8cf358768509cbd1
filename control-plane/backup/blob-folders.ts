import { link, mkdir, readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/** Folders in DATA_DIR with parameters of models and federations, if trainer node and coordinator share it with the control plane. */
const BLOB_FOLDERS = ["coordinator-blobs", "trainer-blobs"];
/** Unfinished uploads. */
const PARTIAL = /(^|\/)\.partial-[^/]*$/;

/** Links the blobs of a data folder into another folder. They are named by their content, so that none ever changes. */
export async function linkBlobs(dataDir: string, target: string): Promise<void> {
  for (const name of BLOB_FOLDERS) {
    for (const path of await filesBelow(join(dataDir, name))) if (!PARTIAL.test(path)) await linkFile(dataDir, join(name, path), target);
  }
}

/** Paths of all files below a folder, relative to it, in order; none if it does not exist. */
export async function filesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

async function linkFile(from: string, path: string, target: string): Promise<void> {
  const copy = join(target, path);
  await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  await link(join(from, path), copy).catch((thrown: NodeJS.ErrnoException) => {
    // It is linked already, or was removed since the folder was listed.
    if (thrown.code !== "EEXIST" && thrown.code !== "ENOENT") throw thrown;
  });
}
