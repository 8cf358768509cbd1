import { type Request, Router } from "express";
import { CAPABILITIES_HEADER, capabilitiesInHeader } from "../../../common/training/capabilities.ts";
import { PROPERTIES_HEADER, readProperties } from "../../../common/training/selection-settings.ts";
import { TrainerError } from "../../errors.ts";
import { onlyMethods } from "../../http/methods.ts";
import { tenantOf } from "../../http/tenant.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import { sendBlob } from "../blobs/blob-routes.ts";
import type { JoinedWork } from "./joined-work.ts";
import { PROGRESS_HEADER, readProgress } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";

const WAIT_MS = 20_000;

/**
 * Routes on which joined participants ask for work, fetch the parameters that it names, and send results. Only the edge calls them, after
 * checking the join token.
 */
export function joinedRoutes({ work, blobs, stopping }: { work: JoinedWork; blobs: BlobFolder; stopping: AbortSignal }): Router {
  const router = Router();
  router.get("/v1/tasks/:federation/:participant", async (request, response) => {
    const left = new AbortController();
    response.once("close", () => left.abort());
    const capabilities = capabilitiesInHeader(request.get(CAPABILITIES_HEADER) ?? "");
    const properties = readProperties(request.get(PROPERTIES_HEADER));
    const signal = AbortSignal.any([left.signal, stopping]);
    const task = await work.next(placeOf(request), { waitMs: WAIT_MS, signal, capabilities, properties });
    if (task) response.json({ task });
    else response.status(204).end();
  });
  router.post("/v1/tasks/:federation/:participant/:task", async (request, response) => {
    const fields = readFields(request.get("x-result"));
    const blob = await keepResult({ work, blobs }, request);
    const isWanted = work.finish(placeOf(request), String(request.params["task"]), { blob, fields });
    if (!isWanted)
      throw new TrainerError(
        "ROUND_CLOSED",
        "The result is too late: its round is closed or its call was repeated. Ask for the next task.",
      );
    response.json({ accepted: true });
  });
  router.post("/v1/tasks/:federation/:participant/:task/progress", (request, response) => {
    const fraction = readProgress(Number(request.get(PROGRESS_HEADER)));
    if (fraction === undefined) throw notProgress();
    // A participant whose task is gone is not told to stop: after a restart of this coordinator the task comes again.
    const wanted = work.progress(placeOf(request), String(request.params["task"]), fraction);
    response.json({ wanted });
  });
  router.get("/v1/tasks/:federation/:participant/blobs/:sha256", async (request, response) => {
    const sha256 = String(request.params["sha256"]);
    const isNamed = work.names(placeOf(request), sha256);
    await sendBlob(isNamed ? await blobs.find(sha256) : undefined, { request, response, sha256 });
  });
  router.all("/v1/tasks/:federation/:participant", onlyMethods("GET"));
  return router;
}

const notProgress = () =>
  new TrainerError("VALIDATION_ERROR", "X-Progress must be a number from 0 to 1.", { details: { field: "X-Progress" } });

/** The update counts for the organization of the federation. The round learns why one is refused: sent again, it would be refused again. */
async function keepResult({ work, blobs }: { work: JoinedWork; blobs: BlobFolder }, request: Request) {
  const origin = work.originOf(placeOf(request), String(request.params["task"]));
  try {
    // Room is taken as bytes arrive: a size that is only announced would take it from all federations of the organization.
    return await blobs.of(tenantOf(request), origin).keep(request);
  } catch (thrown) {
    const problem = asRefusal(thrown);
    if (problem instanceof TrainerError && problem.status < 500)
      work.finish(placeOf(request), String(request.params["task"]), { blob: undefined, fields: { error: problem.message } });
    throw problem;
  }
}

function asRefusal(thrown: unknown): unknown {
  if (!(thrown instanceof ParticipantProblem)) return thrown;
  return new TrainerError("PAYLOAD_TOO_LARGE", `The result is too large: ${thrown.message} (COORDINATOR_BLOB_BYTES_MAX).`);
}

function placeOf({ params }: Request): string {
  return `${String(params["federation"])}/${String(params["participant"])}`;
}

function readFields(header: string | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(header ?? "{}")) as Record<string, unknown>;
  } catch {
    throw new TrainerError("VALIDATION_ERROR", "X-Result must be JSON.", { details: { field: "X-Result" } });
  }
}
