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

/** A file that was fetched before the call is run, because datasets are read synchronously. */
export interface FetchedFile {
  readonly uri: string;
  readonly path: string;
  readonly bytes: Buffer;
}

/** Fetches the file if a dataset names an https address; undefined for other datasets. */
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
 * Reads a file that the operator allowed by prefix: JSON, JSON lines, CSV with a header, or npz with x and y. Symbolic links are resolved
 * before the path is compared, so that a link out of the folder is refused.
 */
export function readUri(value: object, prefixes: readonly string[], fetched?: FetchedFile): unknown {
  const { uri, sha256 } = parseWith(request, value, "dataset");
  const { path, bytes } = fetched?.uri === uri ? fetched : readLocal(uri, prefixes);
  if (sha256 !== undefined && createHash("sha256").update(bytes).digest("hex") !== sha256) {
    throw new InputProblem("VALIDATION_ERROR", "dataset.sha256 is not the SHA-256 of the file", { field: "dataset.sha256" });
  }
  return parseFile(path, bytes);
}

function readLocal(uri: string, prefixes: readonly string[]): { path: string; bytes: Buffer } {
  const path = allowedPath(uri, prefixes);
  return { path, bytes: readBounded(path, uri) };
}

function notAllowed(): InputProblem {
  return new InputProblem(
    "VALIDATION_ERROR",
    "dataset.uri names no file under a prefix of TRAINER_DATASET_URIS, which the operator of this node sets",
    { form: "uri" },
  );
}

function isFolder(): InputProblem {
  return new InputProblem("VALIDATION_ERROR", "dataset.uri names a folder; name one file in it: .json, .jsonl, .csv or .npz", {
    form: "uri",
  });
}

function allowedPath(uri: string, prefixes: readonly string[]): string {
  if (!uri.startsWith("file:///")) throw notAllowed();
  try {
    const path = realpathSync(fileURLToPath(uri));
    const roots = prefixes.filter((prefix) => prefix.startsWith("file:")).map((prefix) => realpathSync(fileURLToPath(prefix)));
    if (roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep))) return path;
  } catch {
    // A file outside the prefixes and a missing file give the same error, so that callers cannot probe for files.
  }
  throw notAllowed();
}

function readBounded(path: string, uri: string): Buffer {
  const file = openSync(path, "r");
  try {
    const stats = fstatSync(file);
    if (stats.isDirectory()) throw isFolder();
    const { size } = stats;
    if (size > FILE_BYTES_MAX) {
      throw new TrainerError("PAYLOAD_TOO_LARGE", `${uri.slice(0, 200)} has ${size} bytes; the limit is ${FILE_BYTES_MAX}.`, {
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
    throw new InputProblem("VALIDATION_ERROR", "the content of the file of dataset.uri does not match its extension", { form: "uri" });
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
  if (x.shape.length > 2) {
    const message = `array "x" of the npz file has the shape [${x.shape.join(", ")}]; it must have two dimensions, rows and columns: x.reshape(len(x), -1)`;
    throw new InputProblem("SHAPE_MISMATCH", message, { tensor: "x", shape: x.shape });
  }
  const columns = x.shape[1] ?? 1;
  const numbers = Array.from(x.data as ArrayLike<number | bigint>, Number);
  return {
    x: Array.from({ length: x.shape[0] ?? 0 }, (_, row) => numbers.slice(row * columns, (row + 1) * columns)),
    y: Array.from(y.data as ArrayLike<number | bigint>, Number),
  };
}

/** Parses plain CSV: a header, commas, no quotes. Numeric cells become numbers. */
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
