import { type Request, Router } from "express";
import { z } from "zod";
import { TASK_NAMES } from "../../compute/tasks/registry.ts";
import { TrainerError } from "../../errors.ts";
import { onlyMethods } from "../../http/methods.ts";
import { tenantOf } from "../../http/tenant.ts";
import { parseWith } from "../../operations/schemas.ts";
import type { ReadableBlobs } from "../updates/inspect-blob.ts";
import { servingProblem } from "../updates/parameters-problem.ts";
import { digestOf } from "./blob-routes.ts";

const PATH = "/v1/blobs/:sha256/servable";

const query = z.object({ task: z.enum(TASK_NAMES as [string, ...string[]]) });

/** `GET /v1/blobs/{sha256}/servable?task=softmax`: why a tenant's blob cannot be served as a model of the task, or `problem: null`. */
export function servableRoutes(blobsOf: (tenant: string) => ReadableBlobs): Router {
  const router = Router();
  router.get(PATH, async (request: Request, response) => {
    const sha256 = digestOf(request);
    const blobs = blobsOf(tenantOf(request));
    if (!(await blobs.find(sha256))) throw new TrainerError("BLOB_NOT_FOUND", `There is no blob sha256:${sha256} here.`);
    const { task } = parseWith(query, { ...request.query }, "query");
    response.json({ problem: (await servingProblem(blobs, sha256, task)) ?? null });
  });
  router.all(PATH, onlyMethods("GET", "HEAD"));
  return router;
}
