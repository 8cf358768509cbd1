import { type Request, type RequestHandler, type Response, Router } from "express";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { startJob } from "../jobs/start-job.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { ByteReservation } from "../pool/byte-budget.ts";
import { OPERATION_NAMES, type Operation } from "../pool/messages.ts";
import type { ComputeAnswer } from "../pool/pool.ts";
import { answerTypeOf, bodyTypeOf, CONTENT_TYPES } from "./body-types.ts";
import { answerJobView, answerKnownJob, type IdempotentCall, idempotentCall } from "./idempotent-call.ts";
import { onlyMethods } from "./methods.ts";
import { isOwner } from "./owner.ts";
import { type ReadBody, readBody } from "./read-body.ts";
import { type SignedCall, signedCall } from "./signed-call.ts";
import { ofTenant, tenantOf } from "./tenant.ts";

const DRAINING_RETRY_SECONDS = 10;
/** Default of how long a sender may pause within a body. */
export const BODY_IDLE_MS = 60_000;
/** Operations whose body may be larger than memory, because it is processed while it arrives. */
const STREAMED: ReadonlySet<Operation> = new Set(["aggregate", "call"]);

/** Routes of `/train`, `/evaluate`, `/aggregate`, `/predict`, `/serve` and `/call`, each also under `/v1`. */
export function callRoutes(deps: TrainerDeps): Router {
  const router = Router();
  for (const operation of OPERATION_NAMES) {
    const paths = [`/${operation}`, `/v1/${operation}`];
    router.post(paths, handleCall(operation, deps));
    router.all(paths, onlyMethods("POST"));
  }
  return router;
}

function handleCall(operation: Operation, deps: TrainerDeps): RequestHandler {
  return async (request, response) => {
    refuseDraining(deps);
    const answerType = answerTypeOf(request.headers, bodyTypeOf(request.headers));
    const reservation = deps.budget.open();
    const signed = signedCall(request, deps);
    const keyed = idempotentCall(request, operation, deps);
    let handedOn = false;
    try {
      const body = await readBody(request, response, {
        ...bodyOptions(operation, deps, reservation),
        onChunk: bothOf(keyed?.hash, signed?.hash),
      });
      if (keyed?.earlier) {
        await answerAgain(request, response, body, { ...keyed, earlier: keyed.earlier, signed }, deps);
      } else if (wantsJob(request) && deps.jobs) {
        // A job starts before its body is known to match the signature.
        if (signed)
          throw new TrainerError(
            "VALIDATION_ERROR",
            "A node with TRAINER_SECRET does not support asynchronous jobs. Omit Prefer: respond-async.",
          );
        handedOn = true;
        const id = await answerJob(request, response, { operation, body, answerType, reservation }, deps);
        keyed?.finish({ type: "job", id });
      } else {
        const signal = unwantedSignal(response, keyed, deps);
        const answer = await runCall(request, { operation, body, answerType, signal }, deps);
        signed?.requireSameBody();
        keyed?.finish({ type: "answer", answer, answerType });
        freeWhenSent(response, answer, keyed);
        sendAnswer(response, answer, answerType, deps);
      }
    } catch (thrown) {
      keyed?.fail();
      throw orDraining(thrown, deps);
    } finally {
      if (!handedOn) reservation.release();
    }
  };
}

type OnChunk = ((chunk: Uint8Array) => void) | undefined;

function bothOf(first: OnChunk, second: OnChunk): OnChunk {
  if (!first || !second) return first ?? second;
  return (chunk) => {
    first(chunk);
    second(chunk);
  };
}

/** Sends the stored answer of the key once the body is known to be the same; no work is done. */
async function answerAgain(
  request: Request,
  response: Response,
  body: ReadBody,
  { earlier, signed }: { earlier: NonNullable<IdempotentCall["earlier"]>; signed: SignedCall | undefined },
  deps: TrainerDeps,
): Promise<void> {
  deps.metrics.countBytes("in", await body.sendRest(AbortSignal.abort()));
  signed?.requireSameBody();
  const result = earlier();
  response.setHeader("Idempotent-Replayed", "true");
  if (result.type === "job") answerKnownJob(request, response, { id: result.id, jobs: deps.jobs });
  else sendAnswer(response, result.answer, result.answerType, deps);
}

interface CallInput {
  readonly operation: Operation;
  readonly body: ReadBody;
  readonly answerType: BodyType;
}

/** Runs the call in a thread and sends it the rest of the body meanwhile. */
export async function runCall(request: Request, input: CallInput & { signal: AbortSignal }, deps: TrainerDeps): Promise<ComputeAnswer> {
  const { metrics } = deps;
  // A training of hours does not delay calls of a published model.
  const pool = input.operation === "serve" ? deps.servingPool : deps.pool;
  const settled = new AbortController();
  const work = pool.run(taskOf(request, input, deps), { signal: input.signal }).finally(() => settled.abort());
  // The first failure decides: a body that ends early stops the work, and work that is refused early stops the wait for the body.
  const [answer, bodyBytes] = await Promise.all([work, input.body.sendRest(settled.signal)]);
  metrics.countBytes("in", bodyBytes);
  return answer;
}

function taskOf(request: Request, { operation, body, answerType }: CallInput, { random, rounds }: TrainerDeps) {
  const config = request.get("x-train-config");
  const bodyType = bodyTypeOf(request.headers);
  return {
    type: "call",
    operation,
    body: body.bytes,
    ring: body.ring,
    bodyType,
    answerType,
    config,
    seed: random.bytes(4).readUInt32LE(),
    closedRounds: ofTenant(request, rounds.list()),
    noiseKey: random.bytes(32),
    tenant: tenantOf(request),
  } as const;
}

/** An answer may be as large as a model, so its memory is freed when it is sent, unless the idempotency store holds it. */
function freeWhenSent(response: Response, { body }: ComputeAnswer, keyed: IdempotentCall | undefined): void {
  if (!keyed) response.once("finish", () => body.buffer.transfer(0));
}

/** Sends the answer of a call, with its fields in X-Result where the body has no room for them. */
export function sendAnswer(
  response: Response,
  { body, head }: ComputeAnswer,
  type: BodyType,
  { metrics }: Pick<TrainerDeps, "metrics">,
): void {
  metrics.countBytes("out", body.byteLength);
  if (head !== undefined) response.setHeader("X-Result", head);
  response
    .status(200)
    .type(CONTENT_TYPES[type])
    .end(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}

/**
 * `Prefer: respond-async`: answers 202 when the body has arrived and the work has started, which then continues as a job. A request that is not
 * valid has the answer of a synchronous call, unless the node is so busy that it is only read later.
 */
async function answerJob(
  request: Request,
  response: Response,
  input: CallInput & { reservation: ByteReservation },
  deps: TrainerDeps,
): Promise<string> {
  const task = taskOf(request, input, deps);
  const release = () => input.reservation.release();
  const { job, settled, refused } = startJob(
    { task, answerType: input.answerType, owner: tenantOf(request), isOwner: isOwner(request, deps.settings), release },
    deps,
  );
  deps.metrics.countBytes("in", await input.body.sendRest(settled));
  const refusal = await refused;
  if (refusal) throw refusal;
  answerJobView(request, response, job);
  return job.id;
}

function wantsJob(request: Request): boolean {
  const preferred = (request.get("prefer") ?? "").split(",").some((preference) => preference.trim().toLowerCase() === "respond-async");
  return preferred || request.query["async"] === "1";
}

function bodyOptions(operation: Operation, { settings, registered }: TrainerDeps, reservation: ByteReservation) {
  const { bodyBytesMax, streamBytesMax = bodyBytesMax, bodyIdleMs = BODY_IDLE_MS } = settings;
  // A registered aggregate function receives all clients at once, so its body cannot be streamed.
  const streamed = STREAMED.has(operation) && !registered().includes("aggregate");
  return { bodyBytesMax: streamed ? streamBytesMax : bodyBytesMax, idleMs: bodyIdleMs, reservation };
}

function refuseDraining({ state }: TrainerDeps): void {
  if (state() === "draining") throw drainingError();
}

function drainingError(): TrainerError {
  return new TrainerError("DRAINING", "The node is shutting down. Use another node, or try again later.", {
    retryAfterSeconds: DRAINING_RETRY_SECONDS,
  });
}

/** Work that a stopping node ended is not the caller's failure, nor its own. */
function orDraining(thrown: unknown, { cut }: TrainerDeps): unknown {
  return cut?.aborted ? drainingError() : thrown;
}

/** A caller with an Idempotency-Key may disconnect and repeat the call, so the work continues; a stopping node ends any work. */
function unwantedSignal(response: Response, keyed: IdempotentCall | undefined, { cut }: TrainerDeps): AbortSignal {
  return AbortSignal.any([keyed ? undefined : clientLeft(response), cut].filter((signal) => signal !== undefined));
}

/** Aborts when the client disconnects before the answer, so that unneeded work stops. */
function clientLeft(response: Response): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
