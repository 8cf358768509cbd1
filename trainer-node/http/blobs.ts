import { type Request, type Response, Router } from "express";
import { createBlobStore } from "../blobs/blob-store.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { onlyMethods } from "./methods.ts";
import { ANONYMOUS, tenantOf } from "./tenant.ts";

const PATH = "/v1/blobs/:sha256";

/** `/v1/blobs/{sha256}`: stores parameters once, so that calls can name them as `parameters_ref` or in `parameters_refs`. */
export function blobRoutes({ settings, metrics }: TrainerDeps): Router {
  const router = Router();
  if (!settings.blobs) return router;
  const store = createBlobStore(settings.blobs);
  router.put(PATH, async (request, response) => {
    // The name of a blob is the hash of its bytes, so a signature that covers the path covers the body.
    const digest = digestOf(request);
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    try {
      const outcome = await store.put(digest, request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>, tenantOf(request));
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
    const isHidden = tenantOf(request) === ANONYMOUS && (await store.tenantOf(digest)) !== ANONYMOUS;
    const found = isHidden ? undefined : await store.find(digest);
    if (!found) throw new TrainerError("BLOB_NOT_FOUND", `This node has no blob sha256:${digest}. PUT it to /v1/blobs/${digest} first.`);
    const headers = { ETag: `"${digest}"`, "Content-Type": "application/octet-stream", "Cache-Control": "private, immutable" };
    response.sendFile(found.path, { headers, etag: false, dotfiles: "allow", lastModified: false }, (error?: Error) => {
      if (!error || response.headersSent || response.destroyed) return;
      for (const name of Object.keys(headers)) response.removeHeader(name);
      next((error as { status?: number }).status === 416 ? outOfRange(response, found.bytes) : error);
    });
  });
  router.delete(PATH, async (request, response) => {
    // Tenants that store the same bytes share one blob, and a model of another tenant may be served from it.
    const [digest, tenant] = [digestOf(request), tenantOf(request)];
    if (tenant !== "" && (await store.tenantOf(digest)) !== tenant)
      throw new TrainerError(
        "FORBIDDEN",
        "Another organization stored this blob, too, or the operator did. Only the node's operator can delete it.",
      );
    await store.remove(digest);
    response.status(204).end();
  });
  router.all(PATH, onlyMethods("GET", "HEAD", "PUT", "DELETE"));
  return router;
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
