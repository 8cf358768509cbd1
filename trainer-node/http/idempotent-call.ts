import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import type { StoredResult } from "../idempotency/idempotency-store.ts";
import { describeJob, type Job } from "../jobs/job-store.ts";
import type { Operation } from "../pool/messages.ts";
import { asCalled, withinTenant } from "./tenant.ts";

const KEY_CHARACTERS_MAX = 255;
/** Headers that influence the answer, so they are part of the fingerprint. */
const FINGERPRINT_HEADERS = ["content-type", "accept", "prefer", "x-train-config"] as const;

/** A call with an Idempotency-Key: hashes the body while it arrives and finds the stored answer of an equal call. */
export interface IdempotentCall {
  /** Must be called with every chunk of the body. */
  hash(chunk: Uint8Array): void;
  /** The stored answer of this key. Call it after the whole body was hashed; it throws if the earlier call was a different one. */
  readonly earlier: (() => StoredResult) | undefined;
  finish(result: StoredResult): void;
  fail(): void;
}

/** Undefined if the caller sent no Idempotency-Key. */
export function idempotentCall(
  request: Request,
  operation: Operation,
  { idempotencyStore }: Pick<TrainerDeps, "idempotencyStore">,
): IdempotentCall | undefined {
  const sent = request.get("idempotency-key");
  if (sent === undefined) return undefined;
  if (sent === "" || sent.length > KEY_CHARACTERS_MAX)
    throw new TrainerError("VALIDATION_ERROR", `Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} characters.`, {
      details: { field: "Idempotency-Key" },
    });
  const key = withinTenant(request, sent);
  const hash = createHash("sha256");
  hash.update(JSON.stringify([operation, request.query["async"], ...FINGERPRINT_HEADERS.map((name) => request.get(name) ?? null)]));
  const found = idempotencyStore.take(key);
  return {
    hash: (chunk) => void hash.update(chunk),
    earlier: found && (() => sameOrRefused(found, hash.digest("hex"))),
    finish: (result) => idempotencyStore.finish(key, hash.digest("hex"), result),
    fail: () => {
      if (!found) idempotencyStore.fail(key);
    },
  };
}

function sameOrRefused(found: { fingerprint: string; result: StoredResult }, fingerprint: string): StoredResult {
  if (found.fingerprint === fingerprint) return found.result;
  throw new TrainerError("IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used for a different call. Use a new key.", {
    details: { status: "other" },
  });
}

/** Answers a repeated asynchronous call with the current state of its job. */
export function answerKnownJob(request: Request, response: Response, { id, jobs }: { id: string } & Pick<TrainerDeps, "jobs">): void {
  const job = jobs?.find(id);
  if (!job) throw new TrainerError("JOB_NOT_FOUND", `The job ${id} of this Idempotency-Key has expired. Use a new key.`);
  answerJobView(request, response, job);
}

/** Answers 202 with the state of the job and its URL. */
export function answerJobView(request: Request, response: Response, job: Job): void {
  const path = asCalled(request, `/v1/jobs/${job.id}`);
  response.status(202).setHeader("Location", path).setHeader("Preference-Applied", "respond-async");
  response.json(describeJob(job, path));
}
