import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { type Request, type Response, Router } from "express";
import { requireSame } from "../../blobs/blob-owners.ts";
import { TrainerError } from "../../errors.ts";
import { announcedBytes } from "../../http/blobs.ts";
import { onlyMethods } from "../../http/methods.ts";
import { tenantOf } from "../../http/tenant.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import type { BlobFolder } from "./blob-folder.ts";

const PATH = "/v1/blobs/:sha256";
const STORAGE_PATH = "/v1/storage";

/**
 * `/v1/blobs/{sha256}`: with a tenant (`x-gw-tenant`), blobs that it uploaded or that its federations made; without one, all. An upload is
 * checked against its name while it arrives. `/v1/storage`: the bytes of a tenant here.
 */
export function blobRoutes(blobs: BlobFolder): Router {
  const router = Router();
  router.get(PATH, async (request, response) => {
    const sha256 = digestOf(request);
    await sendBlob(await blobs.of(tenantOf(request)).findOwned(sha256), { request, response, sha256 });
  });
  router.put(PATH, async (request, response) => {
    const sha256 = digestOf(request);
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    try {
      const found = tenantOf(request) === "" ? undefined : await blobs.of(tenantOf(request)).findOwned(sha256);
      const { bytes } = found ? await storedAgain(blobs, request, { sha256, bytes: found.bytes }) : await upload(blobs, request, sha256);
      response.status(found ? 200 : 201).json({ sha256, bytes });
    } finally {
      request.resume();
    }
  });
  router.delete(PATH, async (request, response) => {
    // The bytes go with the next sweep, if nothing else refers to them.
    const sha256 = digestOf(request);
    if (!(await blobs.of(tenantOf(request)).drop(sha256))) throw noBlob(sha256);
    response.status(204).end();
  });
  router.all(PATH, onlyMethods("GET", "HEAD", "PUT", "DELETE"));
  router.get(STORAGE_PATH, (request, response) => {
    const { used, limit } = blobs.owners.use(tenantOf(request));
    response.json({ used_bytes: used, limit_bytes: Number.isFinite(limit) ? limit : null });
  });
  return router;
}

/** Sends a blob; without one, BLOB_NOT_FOUND. */
export async function sendBlob(
  found: { path: string; bytes: number } | undefined,
  { request, response, sha256 }: { request: Request; response: Response; sha256: string },
): Promise<void> {
  if (!found) throw noBlob(sha256);
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("content-length", String(found.bytes));
  response.setHeader("etag", `"${sha256}"`);
  if (request.method === "HEAD") return void response.end();
  // A client that disconnects early is not an error.
  await pipeline(createReadStream(found.path), response).catch(() => response.destroy());
}

async function upload(blobs: BlobFolder, request: Request, expected: string): Promise<{ bytes: number }> {
  try {
    const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    return await blobs.of(tenantOf(request)).keep(chunks, { origin: "stored", expected, bytes: announcedBytes(request) });
  } catch (thrown) {
    if (!(thrown instanceof ParticipantProblem)) throw thrown;
    throw new TrainerError("PAYLOAD_TOO_LARGE", `The blob is too large: ${thrown.message}.`);
  }
}

/** The tenant has the blob already: it counts once, and what its federation made is now its own to keep. */
async function storedAgain(blobs: BlobFolder, request: Request, { sha256, bytes }: { sha256: string; bytes: number }) {
  const hash = createHash("sha256");
  for await (const chunk of request.iterator({ destroyOnReturn: false })) hash.update(chunk as Buffer);
  requireSame(sha256, hash.digest("hex"));
  blobs.owners.add(tenantOf(request), { digest: sha256, bytes, origin: "stored" });
  return { bytes };
}

function noBlob(sha256: string): TrainerError {
  return new TrainerError("BLOB_NOT_FOUND", `This coordinator has no blob sha256:${sha256.slice(0, 64)}.`);
}

/** The SHA-256 in a request's path. */
export function digestOf(request: Request): string {
  const sha256 = String(request.params["sha256"]).toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new TrainerError("VALIDATION_ERROR", "a blob's name must be the 64 hex digits of its SHA-256");
  return sha256;
}
