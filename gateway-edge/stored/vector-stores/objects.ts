import type { z } from "zod";
import type { FileCounts, NewStoreFile, newVectorStore, StoreFileObject, VectorStoreObject } from "../../schemas/stored/vector-stores.ts";
import { DEFAULT_CHUNKING } from "./chunks.ts";

/** A file of a vector store, as it is stored. */
export interface StoreFileBody {
  readonly file: StoreFileObject;
  readonly filename: string;
  readonly batchId: string | null;
  /** Names this addition of the file: each is indexed, and paid once. Absent: added by an earlier release, and paid once for all additions. */
  readonly addition?: string;
}

/** A file batch: its state is that of its files. */
export interface FileBatchBody {
  readonly id: string;
  readonly created_at: number;
  readonly vector_store_id: string;
  readonly fileIds: readonly string[];
}

const DAY_SECONDS = 86_400;
const NO_FILES: FileCounts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 };

export const secondsOf = (ms: number) => Math.floor(ms / 1000);

/** The key under which the indexing of a file is paid once. */
export function indexingOf(recordId: string, { addition }: Pick<StoreFileBody, "addition">): string {
  return addition === undefined ? recordId : `${recordId}.${addition}`;
}

/** The record of a store's file. Its id names both, so that a file is in a store once. */
export function storeFileId(storeId: string, fileId: string): string {
  return `${storeId}.${fileId}`;
}

export function newStoreObject(
  { id, nowMs, model }: { id: string; nowMs: number; model: string },
  body: z.output<typeof newVectorStore>,
): VectorStoreObject {
  const { name = null, description = null, metadata, expires_after: expiresAfter = null } = body;
  const store: VectorStoreObject = {
    ...{ id, object: "vector_store", created_at: secondsOf(nowMs), name, description, usage_bytes: 0, file_counts: NO_FILES },
    ...{ status: "completed", expires_after: expiresAfter, expires_at: null, last_active_at: secondsOf(nowMs) },
    ...{ metadata: metadata ?? {}, embedding_model: model },
  };
  return activeAt(store, nowMs);
}

/** A store that was used now: its expiry is counted from its last use. */
export function activeAt(store: VectorStoreObject, nowMs: number): VectorStoreObject {
  const last = secondsOf(nowMs);
  return { ...store, last_active_at: last, expires_at: store.expires_after ? last + store.expires_after.days * DAY_SECONDS : null };
}

/** A store as clients see it: whether it has expired depends on the time. */
export function shownStore(store: VectorStoreObject, nowMs: number): VectorStoreObject {
  if (isExpired(store, nowMs)) return { ...store, status: "expired" };
  return { ...store, status: store.file_counts.in_progress > 0 ? "in_progress" : "completed" };
}

export function isExpired({ expires_at: expiresAt }: VectorStoreObject, nowMs: number): boolean {
  return expiresAt !== null && expiresAt * 1000 <= nowMs;
}

export function newStoreFileBody(
  given: NewStoreFile,
  { storeId, nowMs, ...named }: { storeId: string; nowMs: number } & Required<Omit<StoreFileBody, "file">>,
): StoreFileBody {
  const { file_id: id, chunking_strategy: strategy, attributes } = given;
  const file: StoreFileObject = {
    ...{ id, object: "vector_store.file", created_at: secondsOf(nowMs), vector_store_id: storeId, usage_bytes: 0 },
    ...{ status: "in_progress", last_error: null, attributes: attributes ?? {} },
    chunking_strategy: { type: "static", static: strategy?.type === "static" ? strategy.static : DEFAULT_CHUNKING },
  };
  return { file, ...named };
}

/** The store after files of it changed from one state to another; null: before it was added, or after it was removed. */
export function withFiles(
  store: VectorStoreObject,
  changes: readonly { before: StoreFileObject | null; after: StoreFileObject | null }[],
): VectorStoreObject {
  const counts = { ...store.file_counts };
  let bytes = store.usage_bytes;
  for (const { before, after } of changes) {
    if (before) counts[before.status]--;
    if (after) counts[after.status]++;
    counts.total += (after ? 1 : 0) - (before ? 1 : 0);
    bytes += (after?.usage_bytes ?? 0) - (before?.usage_bytes ?? 0);
  }
  return { ...store, file_counts: counts, usage_bytes: bytes };
}

function countsOf(files: readonly StoreFileObject[]): FileCounts {
  const counts = { ...NO_FILES, total: files.length };
  for (const { status } of files) counts[status]++;
  return counts;
}

/** A file batch as clients see it. */
export function shownBatch({ id, created_at: createdAt, vector_store_id: storeId }: FileBatchBody, files: readonly StoreFileObject[]) {
  const counts = countsOf(files);
  const { in_progress: left, completed, cancelled, failed } = counts;
  const ended = cancelled > 0 && completed + failed === 0 ? "cancelled" : failed > 0 && completed === 0 ? "failed" : "completed";
  return {
    ...{ id, object: "vector_store.files_batch" as const, created_at: createdAt, vector_store_id: storeId },
    ...{ status: left > 0 ? ("in_progress" as const) : (ended as "cancelled" | "failed" | "completed"), file_counts: counts },
  };
}
