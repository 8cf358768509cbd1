import { type Request, type Response, Router } from "express";
import { CAPABILITIES_HEADER, capabilitiesInHeader } from "../../../common/training/capabilities.ts";
import { PROPERTIES_HEADER, readProperties } from "../../../common/training/selection-settings.ts";
import { TrainerError } from "../../errors.ts";
import { onlyMethods } from "../../http/methods.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import { sendBlob } from "../blobs/blob-routes.ts";
import type { JoinedWork } from "./joined-work.ts";
import { PROGRESS_HEADER, readProgress } from "./node-call.ts";
import { receiveUpdate, tooLate } from "./receive-update.ts";

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
    try {
      await finishTask({ work, blobs }, { request, response });
    } finally {
      // The rest of a refused body is read and not stored, so that the answer reaches a participant that still sends.
      request.resume();
    }
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

/** Only a training has an update, and only if it did not fail: other bodies are not stored. */
async function finishTask(
  { work, blobs }: { work: JoinedWork; blobs: BlobFolder },
  { request, response }: { request: Request; response: Response },
): Promise<void> {
  const [place, taskId] = [placeOf(request), String(request.params["task"])];
  const fields = readFields(request.get("x-result"));
  const awaited = work.awaited(place, taskId);
  if (!awaited) throw tooLate();
  const hasUpdate = awaited.task.operation === "train" && typeof fields["error"] !== "string";
  try {
    const blob = hasUpdate ? await receiveUpdate(blobs, awaited, { request, response }) : undefined;
    if (!work.finish(place, taskId, { blob, fields })) throw tooLate();
  } catch (thrown) {
    // The round learns why a result is refused: sent again, it would be refused again.
    if (thrown instanceof TrainerError && thrown.status < 500 && thrown.kind !== "ROUND_CLOSED")
      work.finish(place, taskId, { blob: undefined, fields: { error: thrown.message } });
    throw thrown;
  }
  response.json({ accepted: true });
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
