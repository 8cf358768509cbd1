import { createHash } from "node:crypto";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import { type Collection, type Db, GridFSBucket, type GridFSBucketWriteStream, ObjectId } from "mongodb";
import { ignore } from "../../../common/ignore.ts";
import type { Blobs } from "../store.ts";
import { asStoreError } from "./driver-errors.ts";

/** Points a blob's name to its file. Changing this one document replaces the blob. */
interface BlobPointer {
  _id: string;
  fileId: ObjectId;
}

export const BLOB_COLLECTION = "blobs";
const BUCKET = "blobFiles";
const CHUNK_BYTES = 1_048_576;

/** Stores blobs in GridFS. A file is written completely under its own id before the name points to it. */
export function gridBlobs(database: Db): Blobs {
  const bucket = new GridFSBucket(database, { bucketName: BUCKET, chunkSizeBytes: CHUNK_BYTES });
  const pointers = database.collection<BlobPointer>(BLOB_COLLECTION);
  return {
    put: (name, content) => answering(() => put({ bucket, pointers, name, content })),
    get: (name, offset = 0) =>
      answering(async () => {
        const pointer = await pointers.findOne({ _id: String(name) });
        return pointer ? read(bucket, { fileId: pointer.fileId, offset }) : undefined;
      }),
    remove: (name) =>
      answering(async () => {
        const pointer = await pointers.findOneAndDelete({ _id: String(name) });
        if (pointer) await bucket.delete(pointer.fileId);
        await removeUnreferenced({ bucket, pointers, name });
      }),
  };
}

interface Target {
  readonly bucket: GridFSBucket;
  readonly pointers: Collection<BlobPointer>;
  readonly name: string;
}

async function put(request: Target & { content: AsyncIterable<Uint8Array> }): Promise<{ bytes: number; sha256: string }> {
  const { bucket, pointers, name } = request;
  const fileId = new ObjectId();
  const upload = bucket.openUploadStreamWithId(fileId, name);
  let written: { bytes: number; sha256: string };
  try {
    written = await write(upload, request.content);
  } catch (thrown) {
    await discard(upload);
    throw thrown;
  }
  const replaced = await pointers.findOneAndReplace({ _id: name }, { fileId }, { upsert: true, returnDocument: "before" });
  const later = "the next put or remove of this name removes it";
  if (replaced) await ignore(bucket.delete(replaced.fileId), later);
  await ignore(removeUnreferenced(request), later);
  return written;
}

async function write(upload: GridFSBucketWriteStream, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  // Awaited from the start, because an error may occur at any write, also while the next chunk of content is awaited.
  const done = finished(upload);
  void ignore(done, "awaited below");
  for await (const chunk of content) {
    hash.update(chunk);
    bytes += chunk.length;
    if (!upload.write(chunk)) await Promise.race([once(upload, "drain"), done]);
  }
  upload.end();
  await done;
  return { bytes, sha256: hash.digest("hex") };
}

async function discard(upload: GridFSBucketWriteStream): Promise<void> {
  upload.on("error", () => undefined);
  await ignore(upload.abort(), "the upload has failed already");
  upload.destroy();
}

async function* read(bucket: GridFSBucket, { fileId, offset }: { fileId: ObjectId; offset: number }): AsyncIterable<Uint8Array> {
  try {
    const [file] = await bucket.find({ _id: fileId }).toArray();
    // GridFS rejects a start at or after the end, and treats a missing end as zero.
    if (file && offset > 0 && offset >= file.length) return;
    const range = file && offset > 0 ? { start: offset, end: file.length } : {};
    yield* bucket.openDownloadStream(fileId, range) as AsyncIterable<Uint8Array>;
  } catch (thrown) {
    throw asStoreError(thrown);
  }
}

/**
 * Removes files of a process that died between upload and pointer. Only files older than an hour: a newer one may still get its pointer.
 */
async function removeUnreferenced({ bucket, pointers, name }: Target): Promise<void> {
  const hourAgo = ObjectId.createFromTime(Math.floor(new ObjectId().getTimestamp().getTime() / 1_000) - 3_600);
  const old = await bucket.find({ filename: name, _id: { $lt: hourAgo } }).toArray();
  const current = await pointers.findOne({ _id: name });
  for (const file of old) if (!current?.fileId.equals(file._id)) await bucket.delete(file._id);
}

async function answering<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (thrown) {
    throw asStoreError(thrown);
  }
}
