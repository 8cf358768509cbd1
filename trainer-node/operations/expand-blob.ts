import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CompressionMethod } from "../../common/training/compression-settings.ts";
import { keepBlob } from "../blobs/keep-blob.ts";
import { decodeParameters, encodePieces } from "../codec/parameters.ts";
import { expandUpdate } from "./compression.ts";

/** A compressed update and the parameters that it starts from, by their hashes. */
export interface BlobExpansion {
  readonly base: string;
  readonly update: string;
  readonly method: CompressionMethod;
}

/** Stores the parameters that a compressed update stands for. */
export function expandBlob({ base, update, method }: BlobExpansion, folder: string): { sha256: string; bytes: number } {
  const read = (name: string) => decodeParameters(readFileSync(join(folder, name))).tensors;
  const pieces = encodePieces(expandUpdate(read(base), read(update), method), "safetensors");
  return { sha256: keepBlob(folder, pieces), bytes: pieces.reduce((sum, { byteLength }) => sum + byteLength, 0) };
}
