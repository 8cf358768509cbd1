import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { writeHashed } from "../../../common/write-hashed.ts";
import type { FileBlobs } from "../file-store.ts";

/** Blobs that can be copied as of one moment. */
export interface FolderBlobs extends FileBlobs {
  /** Links into another folder of the file system every blob that exists when `moment` is over, and those that are removed meanwhile. */
  linkInto(target: string, moment: Promise<unknown>): Promise<void>;
}

/** Stores blobs as files. Names are hashed into paths, so that no name can leave the folder. */
export function folderBlobs(folder: string): FolderBlobs {
  let counter = 0;
  /** Folders of copies that are being made. */
  const copies = new Set<string>();
  const pathOf = (name: string) => {
    const hash = createHash("sha256").update(name).digest("hex");
    return { folder: join(folder, hash.slice(0, 2)), file: join(folder, hash.slice(0, 2), hash) };
  };
  return {
    async put(name, content) {
      const path = pathOf(name);
      await mkdir(path.folder, { recursive: true, mode: 0o700 });
      const draft = `${path.file}.${process.pid}.${counter++}.part`;
      try {
        const written = await writeHashed(draft, content, "w");
        await rename(draft, path.file);
        return written;
      } catch (thrown) {
        await rm(draft, { force: true });
        throw thrown;
      }
    },
    async get(name, offset = 0) {
      const { file } = pathOf(name);
      const there = await access(file).then(
        () => true,
        () => false,
      );
      return there ? readFile(file, offset) : undefined;
    },
    async remove(name) {
      const { file } = pathOf(name);
      for (const copy of copies) await linkBlob(file, copy);
      await rm(file, { force: true });
    },
    async identity(name) {
      const found = await orMissing(stat(pathOf(name).file, { bigint: true }));
      return found && `${found.dev}/${found.ino}`;
    },
    async linkInto(target, moment) {
      copies.add(target);
      try {
        await moment;
        for (const file of await blobFiles(folder)) await linkBlob(file, target);
      } finally {
        copies.delete(target);
      }
    },
  };
}

/** A file that does not exist is undefined. */
function orMissing<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return undefined;
    throw thrown;
  });
}

const BLOB = /^[0-9a-f]{64}$/;

async function blobFiles(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile() && BLOB.test(entry.name)).map((entry) => join(entry.parentPath, entry.name));
}

/** A link shares the bytes of the blob, which never change, and outlives its removal. */
async function linkBlob(file: string, target: string): Promise<void> {
  const name = basename(file);
  const folder = join(target, name.slice(0, 2));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await link(file, join(folder, name)).catch((thrown: NodeJS.ErrnoException) => {
    // It was linked before its removal, or was removed before it could be listed.
    if (thrown.code !== "EEXIST" && thrown.code !== "ENOENT") throw thrown;
  });
}

/** Opened on the first read: an unread stream would raise an unhandled error if its file is removed. */
async function* readFile(file: string, offset: number): AsyncGenerator<Uint8Array> {
  yield* createReadStream(file, { start: offset }) as AsyncIterable<Uint8Array>;
}
