import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Blobs } from "../store.ts";

/** Stores blobs as files. Names are hashed into paths, so that no name can leave the folder. */
export function folderBlobs(folder: string): Blobs {
  let counter = 0;
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
        const written = await writeFile(draft, content);
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
      await rm(pathOf(name).file, { force: true });
    },
  };
}

/** Opened on the first read: an unread stream would raise an unhandled error if its file is removed. */
async function* readFile(file: string, offset: number): AsyncGenerator<Uint8Array> {
  yield* createReadStream(file, { start: offset }) as AsyncIterable<Uint8Array>;
}

async function writeFile(path: string, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  const file = await open(path, "w", 0o600);
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}
