import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { ignore } from "../../common/ignore.ts";
import { toJson } from "../../common/json.ts";
import type { ObjectStore } from "../../common/objects/object-store.ts";
import { writeHashed } from "../../common/write-hashed.ts";

const SUM = ".sha256";
/** Releases before buckets wrote parts without the hash. */
const PART = /\.(\d+)(?:\.([0-9a-f]{16}))?\.jsonl\.gz$/;
const NAMED_DIGITS = 16;
const CHUNK_CHARACTERS = 64 * 1024;

/**
 * The parts of an archive: gzip files of JSON lines, numbered from 1 within a series, each with its SHA-256 beside it. A part's name has the begin of
 * its hash, so that a writer that lost its slot, and writes later than it should, never replaces a part of other content.
 */
export class Parts {
  readonly #objects: ObjectStore;
  readonly #workFile: string;

  /** `workFile` is a path on this machine that no other process uses; a part is there until the storage has it. */
  constructor({ objects, workFile }: { objects: ObjectStore; workFile: string }) {
    this.#objects = objects;
    this.#workFile = workFile;
  }

  /** The keys of a series' parts, oldest first. A series is a path such as `usage/2026-08/org_1`. */
  async list(series: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of this.#objects.list(`${series}.`)) if (PART.test(key)) found.push(key);
    return found.sort((left, right) => numberOf(left) - numberOf(right) || (left < right ? -1 : 1));
  }

  /** Writes the part after the given ones. Resolves with its key when it is whole and durable. Rows come in pages, because to wait for each costs as much as to write it. */
  async write(series: string, { after, pages }: { after: readonly string[]; pages: AsyncIterable<readonly object[]> }): Promise<string> {
    const gzip = createGzip();
    await mkdir(dirname(this.#workFile), { recursive: true, mode: 0o700 });
    try {
      const [, file] = await Promise.all([pipeline(Readable.from(linesOf(pages)), gzip), writeHashed(this.#workFile, gzip, "w")]);
      const number = 1 + numberOf(after.at(-1) ?? "");
      const key = `${series}.${number}.${file.sha256.slice(0, NAMED_DIGITS)}.jsonl.gz`;
      await this.#objects.put(key, { path: this.#workFile, ...file });
      return key;
    } finally {
      await rm(this.#workFile, { force: true });
    }
  }

  /** Reads a part back and compares it with its sum. A part whose writer died before it wrote the sum gets it now. */
  async check(key: string): Promise<void> {
    const hash = createHash("sha256");
    await pipeline(await this.#open(key), hash);
    const sum = hash.digest("hex");
    const line = `${sum}  ${key.slice(key.lastIndexOf("/") + 1)}\n`;
    const expected = await this.#sumOf(key);
    const isNamed = sum.startsWith(PART.exec(key)?.[2] ?? "");
    if (!isNamed || (expected !== undefined && expected !== line)) {
      const where = `${key} in ${this.#objects.name}`;
      throw new Error(`${where} differs from its SHA-256; nothing of it is removed from the log. Restore or move the file.`);
    }
    if (expected === undefined) await this.#writeSum(key, line);
  }

  /** The rows of a part, in batches of a size. */
  async *read<Row>(key: string, size: number): AsyncGenerator<Row[]> {
    const content = await this.#open(key);
    const text = createGunzip({ chunkSize: CHUNK_CHARACTERS });
    const read = pipeline(content, text);
    void ignore(read, "it also fails the text, and is awaited at its end");
    try {
      let batch: Row[] = [];
      for await (const lines of splitLines(text)) {
        for (const line of lines) {
          batch.push(JSON.parse(line) as Row);
          if (batch.length < size) continue;
          yield batch;
          batch = [];
        }
      }
      await read;
      if (batch.length > 0) yield batch;
    } finally {
      content.destroy();
      text.destroy();
    }
  }

  async #open(key: string): Promise<Readable> {
    const content = await this.#objects.open(key);
    if (!content) throw new Error(`${key} is not in ${this.#objects.name} any more; nothing of it is removed from the log.`);
    return content;
  }

  async #sumOf(key: string): Promise<string | undefined> {
    const content = await this.#objects.open(key + SUM);
    return content && (await textOf(content));
  }

  async #writeSum(key: string, line: string): Promise<void> {
    try {
      const file = await writeHashed(this.#workFile, Readable.from([Buffer.from(line)]), "w");
      await this.#objects.put(key + SUM, { path: this.#workFile, ...file });
    } finally {
      await rm(this.#workFile, { force: true });
    }
  }
}

const numberOf = (key: string): number => Number(PART.exec(key)?.[1] ?? 0);

/** The rows as lines, many in a chunk: gzip goes to another thread and back for each chunk. */
async function* linesOf(pages: AsyncIterable<readonly object[]>): AsyncIterable<string> {
  let lines = "";
  for await (const page of pages) {
    for (const row of page) {
      lines += `${toJson(row)}\n`;
      if (lines.length < CHUNK_CHARACTERS) continue;
      yield lines;
      lines = "";
    }
  }
  if (lines !== "") yield lines;
}

/** The lines of a text, those of a chunk together. `node:readline` also ends lines at U+2028 and U+2029, which JSON has within its strings. */
async function* splitLines(text: Readable): AsyncGenerator<string[]> {
  let begun = "";
  for await (const chunk of text.setEncoding("utf8")) {
    const lines = String(chunk).split("\n");
    lines[0] = begun + (lines[0] ?? "");
    begun = lines.pop() ?? "";
    yield lines;
  }
  if (begun !== "") yield [begun];
}

async function textOf(content: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString();
}
