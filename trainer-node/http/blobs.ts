import { type Request, type Response, Router } from "express";
import { noBlob } from "../blobs/blob-reader.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { onlyMethods } from "./methods.ts";
import { tenantOf } from "./tenant.ts";

const PATH = "/v1/blobs/:sha256";
const STORAGE_PATH = "/v1/storage";

/**
 * `/v1/blobs/{sha256}`: stores parameters once, so that calls can name them as `parameters_ref` or in `parameters_refs`. For a tenant, a
 * blob that it did not store is not there, even if another tenant stored it. `/v1/storage`: the bytes that the tenant has here.
 */
export function blobRoutes({ blobs: store, metrics }: TrainerDeps): Router {
  const router = Router();
  if (!store) return router;
  router.get(STORAGE_PATH, (request, response) => {
    const { used, limit } = store.use(tenantOf(request));
    response.json({ used_bytes: used, limit_bytes: Number.isFinite(limit) ? limit : null });
  });
  router.all(STORAGE_PATH, onlyMethods("GET", "HEAD"));
  router.put(PATH, async (request, response) => {
    // The name of a blob is the hash of its bytes, so a signature that covers the path covers the body.
    const digest = digestOf(request);
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    try {
      const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
      const outcome = await store.put(digest, chunks, { tenant: tenantOf(request), bytes: announcedBytes(request) });
      const { bytes = 0 } = (await store.find(digest)) ?? {};
      metrics.countBytes("in", bytes);
      response.status(outcome === "created" ? 201 : 200).json({ sha256: digest, ref: `sha256:${digest}`, bytes });
    } finally {
      request.resume();
    }
  });
  // GET also serves HEAD. response.sendFile handles ranges and conditional requests.
  router.get(PATH, async (request, response, next) => {
    const digest = digestOf(request);
    const found = await store.find(digest, tenantOf(request));
    if (!found) throw noBlob(digest);
    const headers = { ETag: `"${digest}"`, "Content-Type": "application/octet-stream", "Cache-Control": "private, immutable" };
    response.sendFile(found.path, { headers, etag: false, dotfiles: "allow", lastModified: false }, (error?: Error) => {
      if (!error || response.headersSent || response.destroyed) return;
      for (const name of Object.keys(headers)) response.removeHeader(name);
      next((error as { status?: number }).status === 416 ? outOfRange(response, found.bytes) : error);
    });
  });
  router.delete(PATH, (request, response) => {
    const digest = digestOf(request);
    if (!store.remove(digest, tenantOf(request))) throw noBlob(digest);
    response.status(204).end();
  });
  router.all(PATH, onlyMethods("GET", "HEAD", "PUT", "DELETE"));
  return router;
}

/** The size of the body as its header announces it. */
export function announcedBytes(request: Request): number | undefined {
  const length = Number(request.get("content-length"));
  return Number.isSafeInteger(length) && length >= 0 ? length : undefined;
}

function outOfRange(response: Response, bytes: number): TrainerError {
  response.setHeader("Content-Range", `bytes */${bytes}`);
  return new TrainerError("RANGE_NOT_SATISFIABLE", `The requested range is outside the blob, which has ${bytes} bytes.`, {
    details: { size_bytes: bytes },
  });
}

function digestOf(request: Request): string {
  const digest = String(request.params["sha256"]).toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new TrainerError("VALIDATION_ERROR", "a blob's name must be the 64 hex digits of its SHA-256");
  return digest;
}
