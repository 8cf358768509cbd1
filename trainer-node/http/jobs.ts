import { type Request, type Response, Router } from "express";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { describeJob, type Job, type JobStore } from "../jobs/job-store.ts";
import { sendAnswer } from "./calls.ts";
import { onlyMethods } from "./methods.ts";
import { requestIdOf } from "./request-id.ts";
import { asCalled, tenantOf } from "./tenant.ts";

const HEARTBEAT_MS = 15_000;

/** `/v1/jobs/{id}`: the state of a call that was sent with `Prefer: respond-async`. */
export function jobRoutes(deps: TrainerDeps): Router {
  const router = Router();
  const { jobs } = deps;
  if (!jobs) return router;
  router.get("/v1/jobs/:id", (request, response) => {
    response.json(viewOf(findJob(jobs, request), request));
  });
  router.delete("/v1/jobs/:id", (request, response) => {
    const job = findJob(jobs, request);
    // The state changes before the signal, so that the failure caused by the abort is not recorded as the job's own.
    jobs.update(job, { state: { status: "cancelled" } });
    job.cancel.abort();
    response.json(viewOf(job, request));
  });
  router.get("/v1/jobs/:id/result", (request, response) => {
    const job = findJob(jobs, request);
    const { state } = job;
    job.isFetched = state.status === "succeeded" || state.status === "failed";
    if (state.status === "succeeded") {
      sendAnswer(response, state.answer, state.type, deps);
      return;
    }
    if (state.status === "failed") {
      response.status(state.httpStatus).json({ ...state.error, request_id: requestIdOf(response) });
      return;
    }
    throw new TrainerError("NOT_READY", `The job is ${state.status}; it has no result.`, { details: { status: state.status } });
  });
  router.get("/v1/jobs/:id/events", (request, response) => streamEvents(findJob(jobs, request), request, response));
  router.all("/v1/jobs/:id", onlyMethods("GET", "DELETE"));
  router.all(["/v1/jobs/:id/result", "/v1/jobs/:id/events"], onlyMethods("GET"));
  return router;
}

function findJob(jobs: JobStore, request: Request): Job {
  const id = String(request.params["id"]);
  const job = jobs.find(id);
  const tenant = tenantOf(request);
  // A job of another tenant is reported as missing.
  if (!job || (tenant !== "" && job.owner !== tenant))
    throw new TrainerError("JOB_NOT_FOUND", `There is no job ${id.slice(0, 100)}. Finished jobs expire after some time.`);
  return job;
}

function viewOf(job: Job, request: Request): object {
  return describeJob(job, asCalled(request, `/v1/jobs/${job.id}`));
}

/** Sends the state of the job at once and after every change, until the job has ended. */
function streamEvents(job: Job, request: Request, response: Response): void {
  response.status(200).setHeader("Cache-Control", "no-store").type("text/event-stream");
  const heartbeat = setInterval(() => response.write(": still here\n\n"), HEARTBEAT_MS);
  const stop = (): void => {
    clearInterval(heartbeat);
    job.listeners.delete(tell);
  };
  function tell(): void {
    const { status } = job.state;
    const ended = status !== "queued" && status !== "running";
    response.write(`event: ${ended ? "end" : "progress"}\ndata: ${JSON.stringify(viewOf(job, request))}\n\n`);
    if (!ended) return;
    stop();
    response.end();
  }
  response.once("close", stop);
  job.listeners.add(tell);
  tell();
}
