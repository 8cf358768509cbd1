import type { Readable } from "node:stream";

/**
 * Objects that all coordinators, or all control planes, of an installation read and write: a folder of a shared file system, or a bucket of an S3
 * server. Every adapter passes object-store-contract.ts.
 */
export interface ObjectStore {
  /** The place, for logs and error messages. */
  readonly name: string;
  /** Stores a file under a key and resolves when it is durable. Readers see the whole object or none. */
  put(key: string, file: ObjectFile, signal?: AbortSignal): Promise<void>;
  /** The size of an object; undefined if there is none. */
  size(key: string, signal?: AbortSignal): Promise<number | undefined>;
  /** The bytes of an object as a stream; undefined if there is none. */
  open(key: string, signal?: AbortSignal): Promise<Readable | undefined>;
  /** All objects whose key starts with the prefix. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<ListedObject>;
  /** Removes an object; nothing happens if there is none. */
  remove(key: string, signal?: AbortSignal): Promise<void>;
}

/** A file that becomes an object. Its SHA-256 is known before it is sent. */
export interface ObjectFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface ListedObject {
  readonly key: string;
  readonly modifiedMs: number;
}

const KEY = /^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*$/;

/** Keys are made by us from hashes, numbers, months and ids; nothing else may become a path or a URL. */
export function requireKey(key: string): string {
  if (!KEY.test(key) || key.split("/").some((part) => part === "." || part === "..")) throw new Error(`${key.slice(0, 200)} is not a key`);
  return key;
}
