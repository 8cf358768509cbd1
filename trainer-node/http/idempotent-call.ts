import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import type { KeptResult } from "../idempotency/kept-answers.ts";
import { describeJob, type Job } from "../jobs/job-store.ts";
import type { Operation } from "../pool/messages.ts";
import { asCalled, withinTenant } from "./tenant.ts";

const KEY_CHARACTERS_MAX = 255;
/** Headers that have a part in what the answer is. */
const TELLING_HEADERS = ["content-type", "accept", "prefer", "x-train-config"] as const;

/** One call under its key: it hashes the body while that arrives, and says whether there is an answer already. */
export interface IdempotentCall {
  /** To be told of every piece of the body. */
  hash(chunk: Uint8Array): void;
  /** The answer of the call that had this key before; the body must have been hashed whole by then. Throws where that was another call. */
  readonly earlier: (() => KeptResult) | undefined;
  finish(result: KeptResult): void;
  fail(): void;
}

/** Undefined where the caller named no key. */
export function idempotentCall(
  request: Request,
  operation: Operation,
  { keptAnswers }: Pick<TrainerDeps, "keptAnswers">,
): IdempotentCall | undefined {
  const sent = request.get("idempotency-key");
  if (sent === undefined) return undefined;
  if (sent === "" || sent.length > KEY_CHARACTERS_MAX)
    throw new TrainerError("VALIDATION_ERROR", `Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} characters.`, {
      details: { field: "Idempotency-Key" },
    });
  const key = withinTenant(request, sent);
  const hash = createHash("sha256");
  hash.update(JSON.stringify([operation, request.query["async"], ...TELLING_HEADERS.map((name) => request.get(name) ?? null)]));
  const found = keptAnswers.take(key);
  return {
    hash: (chunk) => void hash.update(chunk),
    earlier: found && (() => sameOrRefused(found, hash.digest("hex"))),
    finish: (result) => keptAnswers.finish(key, hash.digest("hex"), result),
    fail: () => {
      if (!found) keptAnswers.fail(key);
    },
  };
}

function sameOrRefused(found: { fingerprint: string; result: KeptResult }, fingerprint: string): KeptResult {
  if (found.fingerprint === fingerprint) return found.result;
  throw new TrainerError("IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used for another call.", { details: { status: "other" } });
}

/** A job asked for again: where it is by now. */
export function answerKnownJob(request: Request, response: Response, { id, jobs }: { id: string } & Pick<TrainerDeps, "jobs">): void {
  const job = jobs?.find(id);
  if (!job) throw new TrainerError("JOB_NOT_FOUND", `The job ${id} of this Idempotency-Key is forgotten by now; use another key.`);
  answerJobView(request, response, job);
}

/** 202: the work is taken, and where its end is to be found. */
export function answerJobView(request: Request, response: Response, job: Job): void {
  const path = asCalled(request, `/v1/jobs/${job.id}`);
  response.status(202).setHeader("Location", path).setHeader("Preference-Applied", "respond-async");
  response.json(describeJob(job, path));
}
