import { type RequestHandler, type Response, Router } from "express";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { OPERATION_NAMES, type Operation } from "../pool/messages.ts";
import { onlyMethods } from "./methods.ts";
import { readBody } from "./read-body.ts";

const DRAINING_RETRY_SECONDS = 10;

/** `/train`, `/evaluate` and `/aggregate`, each also under `/v1`. */
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
  const { pool, budget, metrics, random, settings } = deps;
  return async (request, response) => {
    if (deps.state() === "draining") {
      throw new TrainerError("DRAINING", "The node is stopping; ask another or try again later.", {
        retryAfterSeconds: DRAINING_RETRY_SECONDS,
      });
    }
    const reservation = budget.open();
    try {
      const body = await readBody(request, response, { bodyBytesMax: settings.bodyBytesMax, reservation });
      metrics.countBytes("in", body.byteLength);
      const seed = random.bytes(4).readUInt32LE();
      const answer = await pool.run({ type: "call", operation, body, seed }, { signal: clientLeft(response) });
      metrics.countBytes("out", answer.byteLength);
      response.status(200).type("application/json").end(Buffer.from(answer.buffer));
    } finally {
      reservation.release();
    }
  };
}

/** Aborts when the connection ends before the answer: work nobody waits for is stopped. */
function clientLeft(response: Response): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
