import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { link, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { toJson } from "../../common/json.ts";
import { syncFolder } from "../../common/sync-folder.ts";
import { writeHashed } from "../../common/write-hashed.ts";
import type { UsageRow } from "../domain/records.ts";

const PARTIAL = ".partial";
const SUM = ".sha256";

/** Where the parts of an organization's month are: gzip files of JSON lines, numbered from 1, each with its SHA-256 beside it. */
export interface PartPlace {
  /** The folder of the month. */
  readonly folder: string;
  readonly organizationId: string;
}

/** What the removal of an archived row needs of it. */
export type ArchivedRow = Pick<UsageRow, "id" | "contentHash">;

/**
 * The parts of a place, oldest first. Unfinished ones are removed: only the owner of the organization archives, so that their writer is dead or has
 * lost the slot, and must not complete them any more.
 */
export async function openParts({ folder, organizationId }: PartPlace): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const own = (await readdir(folder)).filter((name) => name.startsWith(`${organizationId}.`));
  for (const name of own.filter((name) => name.endsWith(PARTIAL))) await rm(join(folder, name), { force: true });
  const numbers = own.flatMap((name) => /\.(\d+)\.jsonl\.gz$/.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((left, right) => left - right).map((number) => join(folder, nameOf(organizationId, number)));
}

/** Writes the next part. It gets its name when it is whole and on disk, and never replaces another. */
export async function writePart(
  { folder, organizationId }: PartPlace,
  { number, writer, rows }: { number: number; writer: string; rows: AsyncIterable<UsageRow> },
): Promise<string> {
  const path = join(folder, nameOf(organizationId, number));
  const partial = `${path}.${writer}${PARTIAL}`;
  const gzip = createGzip();
  await Promise.all([pipeline(Readable.from(linesOf(rows)), gzip), writeHashed(partial, gzip, "w")]);
  await link(partial, path);
  await rm(partial);
  await syncFolder(folder);
  return path;
}

const nameOf = (organizationId: string, number: number): string => `${organizationId}.${number}.jsonl.gz`;

async function* linesOf(rows: AsyncIterable<UsageRow>): AsyncIterable<string> {
  for await (const row of rows) yield `${toJson(row)}\n`;
}

/** Reads a part back from the disk and compares it with its sum. A part whose writer died before it wrote the sum gets it now. */
export async function checkPart(path: string): Promise<void> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  const line = `${hash.digest("hex")}  ${basename(path)}\n`;
  const expected = await readIfPresent(path + SUM);
  if (expected === undefined) return writeSum(path, line);
  if (expected !== line)
    throw new Error(`${path} differs from its SHA-256; nothing of it is removed from the log. Restore or move the file.`);
}

async function writeSum(path: string, line: string): Promise<void> {
  const partial = `${path}${SUM}${PARTIAL}`;
  await writeHashed(partial, Readable.from([Buffer.from(line)]), "w");
  await rename(partial, path + SUM);
  await syncFolder(dirname(path));
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}

/** The rows of a part. */
export async function* readPart(path: string): AsyncGenerator<ArchivedRow> {
  const source = createReadStream(path);
  const text = createGunzip();
  const read = pipeline(source, text);
  const lines = createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) yield JSON.parse(line) as ArchivedRow;
  await read;
}
