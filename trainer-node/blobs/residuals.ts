import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../common/clock.ts";
import { uniqueName } from "../../common/random.ts";
import { decodeParameters, encodePieces } from "../codec/parameters.ts";
import { joinPieces } from "../codec/pieces.ts";
import type { Tensor } from "../compute/tensor.ts";

/** What a client's compressed updates have not sent yet. A round that is asked again gets what it got the first time. */
export interface Residuals {
  read(client: string, round: string): readonly Tensor[];
  keep(client: string, round: string, residuals: { before: readonly Tensor[]; after: readonly Tensor[] }): void;
}

/** Begins with a dot, so that it is no blob. */
const FOLDER = ".residuals";
const ROUND = "#round";
/** Begins with a dot, so that it is no client. Its age is that of the last search for old residuals. */
const SWEPT = ".swept";
const CLIENTS_MAX = 1000;
/** Of all files of a tenant. A larger file could not be read at once. */
const BYTES_MAX = 2 ** 31 - 1;
const AGE_MS_MAX = 7 * 24 * 3_600_000;
const SWEEP_MS = 3_600_000;

/** Residuals as files beside a node's blobs: they survive a restart, and threads share them. Without a folder there are none. */
export function openResiduals(
  blobFolder: string | undefined,
  tenant: string,
  { bytesMax = BYTES_MAX, clock = systemClock }: { bytesMax?: number; clock?: Pick<Clock, "now"> } = {},
): Residuals {
  if (blobFolder === undefined) return { read: () => [], keep: () => {} };
  const all = join(blobFolder, FOLDER);
  const folder = join(all, hash("sha256", tenant, "hex"));
  const pathOf = (client: string): string => join(folder, hash("sha256", client, "hex"));
  return {
    read: (client, round) => {
      const path = pathOf(client);
      if (!existsSync(path)) return [];
      const { tensors } = decodeParameters(readFileSync(path));
      const stored = tensors.find(({ name }) => name === ROUND)?.data as Uint8Array | undefined;
      return having(tensors, new TextDecoder().decode(stored) === round ? "before/" : "after/");
    },
    keep: (client, round, residuals) => {
      const pieces = encodePieces(storedTensors(round, residuals), "safetensors");
      const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      removeOld(all, clock.now());
      const path = pathOf(client);
      // What one update has sent may not be sent again, so an older residual never stays.
      if (bytes > bytesMax) return rmSync(path, { force: true });
      makeRoom(folder, { path, bytes: bytesMax - bytes });
      const partial = join(folder, `.partial-${uniqueName()}`);
      writeFileSync(partial, joinPieces(pieces), { mode: 0o600 });
      renameSync(partial, path);
    },
  };
}

function storedTensors(round: string, { before, after }: { before: readonly Tensor[]; after: readonly Tensor[] }): Tensor[] {
  const text = new TextEncoder().encode(round);
  return [{ name: ROUND, dtype: "u8", shape: [text.length], data: text }, ...named(before, "before/"), ...named(after, "after/")];
}

interface Kept {
  readonly path: string;
  readonly bytes: number;
  readonly at: number;
}

/**
 * Removes the tenant's oldest files until the others, without the one that is replaced, have at most so many bytes. A client that comes back
 * starts without a residual, which costs it some precision once.
 */
function makeRoom(folder: string, room: { path: string; bytes: number }): void {
  const others = readdirSync(folder).map((name) => join(folder, name));
  const newest = others.flatMap((path) => (path === room.path ? [] : keptAt(path))).toSorted((left, right) => right.at - left.at);
  let bytes = 0;
  for (const [at, file] of newest.entries()) {
    bytes += file.bytes;
    if (bytes > room.bytes || at >= CLIENTS_MAX - 1) rmSync(file.path, { force: true });
  }
}

/** Removes what no client has used for long, of every tenant: once in a while, because it looks at every file. */
function removeOld(all: string, now: number): void {
  const swept = join(all, SWEPT);
  if (keptAt(swept).some(({ at }) => now - at < SWEEP_MS)) return;
  writeFileSync(swept, "", { mode: 0o600 });
  for (const entry of readdirSync(all, { recursive: true, withFileTypes: true })) {
    const found = entry.isFile() ? keptAt(join(entry.parentPath, entry.name)) : [];
    for (const { path, at } of found) if (path !== swept && now - at > AGE_MS_MAX) rmSync(path, { force: true });
  }
}

/** Nothing if another thread has removed it. */
function keptAt(path: string): Kept[] {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? [{ path, bytes: found.size, at: found.mtimeMs }] : [];
}

const named = (tensors: readonly Tensor[], prefix: string): Tensor[] =>
  tensors.map((tensor) => ({ ...tensor, name: prefix + tensor.name }));

const having = (tensors: readonly Tensor[], prefix: string): Tensor[] =>
  tensors.filter(({ name }) => name.startsWith(prefix)).map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
