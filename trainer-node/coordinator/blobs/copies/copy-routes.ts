import { utimes } from "node:fs/promises";
import { Router } from "express";
import type { Clock } from "../../../../common/clock.ts";
import { announcedBytes } from "../../../http/blobs.ts";
import { onlyMethods } from "../../../http/methods.ts";
import { tenantOf } from "../../../http/tenant.ts";
import type { BlobFolder } from "../blob-folder.ts";
import { digestOf, sendBlob } from "../blob-routes.ts";

/** The path of copies; only other coordinators call it. */
export const COPIES_PATH = "/v1/copies/";
const PATH = `${COPIES_PATH}:sha256`;
/** The header that tells a coordinator whether an address is its own. */
export const COORDINATOR_HEADER = "x-gw-coordinator";

/**
 * `/v1/copies/{sha256}`: copies of blobs for other coordinators. Unlike `/v1/blobs`, it looks in this coordinator's folder only, so that
 * coordinators do not ask each other in circles.
 */
export function copyRoutes({ folder, clock, self }: { folder: BlobFolder; clock: Clock; self: string }): Router {
  const router = Router();
  router.use(COPIES_PATH, (_request, response, next) => {
    response.setHeader(COORDINATOR_HEADER, self);
    next();
  });
  router.get(PATH, async (request, response) => {
    const sha256 = digestOf(request);
    const found = await folder.of(tenantOf(request)).findOwned(sha256);
    // A blob that another coordinator is about to refer to is not swept as an old one.
    if (found) await utimes(found.path, clock.now() / 1000, clock.now() / 1000);
    await sendBlob(found, { request, response, sha256 });
  });
  router.put(PATH, async (request, response) => {
    const sha256 = digestOf(request);
    // Uploads are copied as `made`: this coordinator sweeps its copy when nothing refers to it, the one with the upload keeps it.
    const { bytes } = await folder.of(tenantOf(request)).keep(request, { expected: sha256, bytes: announcedBytes(request) });
    response.status(201).json({ sha256, bytes });
  });
  router.all(PATH, onlyMethods("GET", "HEAD", "PUT"));
  return router;
}
