import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { decodeParameters } from "../codec/parameters.ts";
import { InputProblem } from "../compute/problem.ts";
import { TrainerError } from "../errors.ts";
import { allowingPrefix, fetchFile } from "./remote-dataset.ts";
import { parseWith } from "./schemas.ts";

const FILE_BYTES_MAX = 256 * 1024 * 1024;
const FETCH_MAX_MS = 120_000;
const request = z.strictObject({
  uri: z.string().max(4096),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
});

/** A file that was fetched for this call, for what reads datasets does not wait. */
export interface FetchedFile {
  readonly uri: string;
  readonly path: string;
  readonly bytes: Buffer;
}

/** The file of an https address where a dataset names one; undefined for every other dataset. */
export async function fetchUri(
  dataset: unknown,
  { uris, authorities }: { uris: readonly string[]; authorities?: string | undefined },
  signal: AbortSignal,
): Promise<FetchedFile | undefined> {
  if (typeof dataset !== "object" || dataset === null || !("uri" in dataset)) return undefined;
  const { uri } = parseWith(request, dataset, "dataset");
  if (!/^https:/i.test(uri)) return undefined;
  const address = URL.parse(uri);
  const prefix = address && allowingPrefix(address, uris);
  if (!prefix) throw notAllowed();
  const bytes = await fetchFile(address, { prefix, authorities, bytesMax: FILE_BYTES_MAX, timeoutMs: FETCH_MAX_MS, signal });
  return { uri, path: address.pathname, bytes };
}

/**
 * The value in a file that the operator has allowed by prefix: JSON, JSON lines, CSV with a header, or npz with x and y. The path is
 * resolved, links and all, before it is compared: a link out of the folder leads nowhere.
 */
export function readUri(value: object, prefixes: readonly string[], fetched?: FetchedFile): unknown {
  const { uri, sha256 } = parseWith(request, value, "dataset");
  const { path, bytes } = fetched?.uri === uri ? fetched : readLocal(uri, prefixes);
  if (sha256 !== undefined && createHash("sha256").update(bytes).digest("hex") !== sha256) {
    throw new InputProblem("VALIDATION_ERROR", "dataset.sha256 is not that of the file", { field: "dataset.sha256" });
  }
  return parseFile(path, bytes);
}

function readLocal(uri: string, prefixes: readonly string[]): { path: string; bytes: Buffer } {
  const path = allowedPath(uri, prefixes);
  return { path, bytes: readBounded(path, uri) };
}

function notAllowed(): InputProblem {
  return new InputProblem("VALIDATION_ERROR", "dataset.uri is not under a prefix that the operator of this node allows", { form: "uri" });
}

function allowedPath(uri: string, prefixes: readonly string[]): string {
  if (!uri.startsWith("file:///")) throw notAllowed();
  try {
    const path = realpathSync(fileURLToPath(uri));
    const roots = prefixes.filter((prefix) => prefix.startsWith("file:")).map((prefix) => realpathSync(fileURLToPath(prefix)));
    if (roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep))) return path;
  } catch {
    // Neither what is outside nor what is missing is told apart to a stranger.
  }
  throw notAllowed();
}

function readBounded(path: string, uri: string): Buffer {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    if (size > FILE_BYTES_MAX) {
      throw new TrainerError("PAYLOAD_TOO_LARGE", `${uri.slice(0, 200)} has ${size} bytes; at most ${FILE_BYTES_MAX} are read.`, {
        details: { limit_bytes: FILE_BYTES_MAX, size_bytes: size },
      });
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function parseFile(path: string, bytes: Buffer): unknown {
  if (path.endsWith(".npz")) return parseNpz(bytes);
  const text = bytes.toString("utf8");
  try {
    if (path.endsWith(".csv")) return parseCsv(text);
    if (path.endsWith(".jsonl")) return lines(text).map((line) => JSON.parse(line) as unknown);
    return JSON.parse(text);
  } catch {
    throw new InputProblem("VALIDATION_ERROR", "the file that dataset.uri names is not what its ending says", { form: "uri" });
  }
}

function parseNpz(bytes: Buffer): unknown {
  const { tensors } = decodeParameters(bytes);
  const field = (name: string) => {
    const tensor = tensors.find((candidate) => candidate.name === name);
    if (!tensor) throw new InputProblem("VALIDATION_ERROR", `the npz file has no array "${name}"`, { form: "uri" });
    return tensor;
  };
  const [x, y] = [field("x"), field("y")];
  const columns = x.shape[1] ?? 1;
  const numbers = Array.from(x.data as ArrayLike<number | bigint>, Number);
  return {
    x: Array.from({ length: x.shape[0] ?? 0 }, (_, row) => numbers.slice(row * columns, (row + 1) * columns)),
    y: Array.from(y.data as ArrayLike<number | bigint>, Number),
  };
}

/** Plain CSV: a header, commas, no quotes; cells that are numbers are numbers. */
function parseCsv(text: string): unknown[] {
  const [header = "", ...rows] = lines(text);
  const keys = header.split(",").map((key) => key.trim());
  return rows.map((row) => {
    const cells = row.split(",").map((cell) => cell.trim());
    return Object.fromEntries(
      keys.map((key, index) => [
        key,
        cells[index] !== undefined && cells[index] !== "" && Number.isFinite(Number(cells[index])) ? Number(cells[index]) : cells[index],
      ]),
    );
  });
}

function lines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}
