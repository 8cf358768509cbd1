import { once } from "node:events";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { programFile } from "../../../common/program-files.ts";
import { unlessDamaged } from "../../blobs/passing-tensors.ts";
import { openTensorFile } from "../../blobs/tensor-file.ts";
import { type ErrorKind, TrainerError } from "../../errors.ts";
import { onlyMethods } from "../../http/methods.ts";
import { parseWith } from "../../operations/schemas.ts";
import { createTurns } from "../../pool/turns.ts";
import type { Conversion, Converted } from "../updates/convert-worker.ts";
import type { BlobFolder } from "./blob-folder.ts";
import { BlobTooLarge, isWhole } from "./read-blob.ts";

const PATH = "/v1/blobs/:sha256/parameters";

const wanted = z.object({ format: z.enum(["safetensors", "npz", "raw"], "must be one of: safetensors, npz, raw").optional() });

/** Why bytes are sent as they are stored, if no format is asked for. */
const AS_STORED: ReadonlySet<ErrorKind> = new Set(["UNSUPPORTED_PARAMETERS", "PAYLOAD_TOO_LARGE"]);

interface Delivery {
  readonly format: "safetensors" | "npz" | "raw";
  /** The SHA-256 of the bytes that are sent. */
  readonly sha256: string;
  readonly bytes: number;
  readonly content: Uint8Array | { readonly path: string };
}

/**
 * `GET /v1/blobs/{sha256}/parameters?format=`: a model as a file in a format. The default is safetensors if the bytes can be read, else the
 * bytes as stored. Stored safetensors are streamed from disk; other conversions run one at a time.
 */
export function parametersRoutes(blobs: BlobFolder): Router {
  const inTurn = createTurns();
  const convert = (conversion: Conversion) => inTurn(() => convertApart(conversion), new AbortController().signal);
  const router = Router();
  router.get(PATH, async (request, response) => {
    const { format } = parseWith(wanted, request.query, "query");
    const delivery = await deliveryOf(blobs, { sha256: String(request.params["sha256"]), format, convert });
    await deliver(delivery, request, response);
  });
  router.all(PATH, onlyMethods("GET", "HEAD"));
  return router;
}

async function deliveryOf(
  blobs: BlobFolder,
  asked: { sha256: string; format: Delivery["format"] | undefined; convert: (conversion: Conversion) => Promise<Converted> },
): Promise<Delivery> {
  const { sha256, format, convert } = asked;
  const found = /^[0-9a-f]{64}$/.test(sha256) ? await blobs.find(sha256) : undefined;
  if (!found) throw new TrainerError("BLOB_NOT_FOUND", `This coordinator has no blob sha256:${sha256.slice(0, 64)}.`);
  const stored = (as: Delivery["format"]): Delivery => ({ format: as, sha256, bytes: found.bytes, content: { path: found.path } });
  if (format === "raw") return stored("raw");
  const isSafetensors = unlessDamaged(() => openTensorFile(found.path)) !== undefined;
  if (isSafetensors && format !== "npz") return stored("safetensors");
  const target = format ?? "safetensors";
  // A conversion holds the whole model, and more than once.
  const converted = isWhole(found.bytes) ? await convert({ path: found.path, format: target }) : { problem: new BlobTooLarge(found.bytes) };
  if (!("problem" in converted)) {
    return { format: target, sha256: converted.sha256, bytes: converted.bytes.byteLength, content: converted.bytes };
  }
  const { kind, message } = converted.problem;
  if (format === undefined && AS_STORED.has(kind)) return stored("raw");
  throw new TrainerError(kind, `The parameters cannot be converted to ${target}; use format=raw. ${message}`);
}

async function convertApart(conversion: Conversion): Promise<Converted> {
  const worker = new Worker(new URL(programFile("../updates/convert-worker.ts"), import.meta.url), { workerData: conversion, env: {} });
  try {
    const [converted] = (await once(worker, "message")) as [Converted];
    return converted;
  } finally {
    await worker.terminate();
  }
}

async function deliver({ format, sha256, bytes, content }: Delivery, request: Request, response: Response): Promise<void> {
  const etag = `"${sha256}"`;
  response.setHeader("etag", etag);
  response.setHeader("x-parameters-format", format);
  if (
    request
      .get("if-none-match")
      ?.split(",")
      .some((tag) => tag.trim() === etag)
  )
    return void response.status(304).end();
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("content-length", String(bytes));
  if (request.method === "HEAD") return void response.end();
  if (content instanceof Uint8Array) return void response.end(content);
  // A client that disconnects early is not an error.
  await pipeline(createReadStream(content.path), response).catch(() => response.destroy());
}
