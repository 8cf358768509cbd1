import type { RequestHandler } from "express";
import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { toJson } from "../../../common/json.ts";
import { readBody } from "../../calls/read-body.ts";
import type { EdgeDeps } from "../../deps.ts";
import type { OperationDescription } from "../../schemas/operation-description.ts";
import { callMetadata } from "../middleware/authenticate-user.ts";
import { DEADLINE_MS } from "../middleware/operation.ts";

export const PAYMENT_EVENTS_PATH = "/api/webhooks/payments/stripe";
const EVENT_BYTES_MAX = 256 * 1024;

const answer = z.object({ received: z.literal(true), outcome: z.string() });

/**
 * Webhook of the payment provider. The body is passed on byte for byte, because the signature covers the bytes; the control plane has the
 * secret to verify it. The provider retries on any response but a 2xx.
 */
export function paymentEventsHandler({ control }: EdgeDeps): RequestHandler {
  return async (request, response) => {
    response.locals["route"] = PAYMENT_EVENTS_PATH;
    const signature = request.headers["stripe-signature"];
    if (typeof signature !== "string") throw new AppError("VALIDATION_ERROR", "The Stripe-Signature header is missing.");
    const payload = await readBody(request, EVENT_BYTES_MAX);
    const options = { deadlineMs: DEADLINE_MS.write, metadata: callMetadata(request, response) };
    const { outcome } = await control.ledger.receivePaymentEvent({ payload, signature }, options);
    response.setHeader("content-type", "application/json; charset=utf-8");
    response.end(toJson({ received: true, outcome } satisfies z.infer<typeof answer>));
  };
}

export const paymentEventsDescription: OperationDescription = {
  method: "post",
  path: PAYMENT_EVENTS_PATH,
  summary: "Webhook for Stripe events, signed by Stripe",
  tags: ["Credits"],
  auth: "none",
  body: z.looseObject({ id: z.string(), type: z.string() }),
  responses: { 200: { description: "The event was accepted; a repeated event has no effect.", schema: answer } },
};
