import express, { Router } from "express";
import { z } from "zod";
import { federationSettingsFields } from "../../../common/training/federation-settings.ts";
import { TrainerError } from "../../errors.ts";
import { onlyMethods } from "../../http/methods.ts";
import { parseWith } from "../../operations/schemas.ts";
import { initialProblem } from "../updates/parameters-problem.ts";
import type { BlobFolder } from "./blob-folder.ts";

const PATH = "/v1/blobs/:sha256/initial";
const BODY_BYTES_MAX = 64 * 1024;

const { strategy, dp, secureAggregation } = federationSettingsFields;
const asked = z.object({ strategy, dp, secureAggregation });

/** `POST /v1/blobs/{sha256}/initial`: why a federation with these settings cannot start from the blob, or `problem: null`. */
export function initialRoutes(blobs: BlobFolder): Router {
  const router = Router();
  router.post(PATH, express.json({ limit: BODY_BYTES_MAX }), async (request, response) => {
    const sha256 = String(request.params["sha256"]);
    const found = /^[0-9a-f]{64}$/.test(sha256) ? await blobs.find(sha256) : undefined;
    if (!found) throw new TrainerError("BLOB_NOT_FOUND", `This coordinator has no blob sha256:${sha256.slice(0, 64)}.`);
    const problem = await initialProblem(blobs, sha256, parseWith(asked, request.body, "body"));
    response.json({ problem: problem ?? null });
  });
  router.all(PATH, onlyMethods("POST"));
  return router;
}
