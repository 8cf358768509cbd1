import Stripe from "stripe";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { CURRENCY, NANO_PER_CENT } from "../domain/payments.ts";
import type { CheckoutOrder, Payments } from "./payments.ts";
import { factOf } from "./stripe-events.ts";

/** Credentials and address of the Stripe API. */
export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** Address of a test double; absent: Stripe's API. */
  apiBase: string | undefined;
}

const TIMEOUT_MS = 8000;
const RETRIES_MAX = 1;
/** An event with an older signature is treated as a replay; one from further in the future could be replayed until then. */
const TOLERANCE_SECONDS = 300;

/** Stripe Checkout and its webhook. */
export function createStripePayments(settings: StripeSettings, options: { clock: Clock; publicUrl: string }): Payments {
  const { clock, publicUrl } = options;
  const stripe = new Stripe(settings.secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES_MAX,
    telemetry: false,
    ...address(settings.apiBase),
  });
  return {
    async createCheckout(order) {
      // With the purchase id as idempotency key, a repeated request returns the same session.
      const session = await stripe.checkout.sessions
        .create(sessionOf(order, publicUrl), { idempotencyKey: order.purchaseId })
        .catch((cause: unknown) => {
          throw unavailable(String(cause), cause);
        });
      if (!session.url) throw unavailable("the session has no address");
      return { id: session.id, url: session.url };
    },

    readEvent(payload, signature) {
      let event: Stripe.Event;
      try {
        const now = clock.now();
        event = stripe.webhooks.constructEvent(Buffer.from(payload), signature, settings.webhookSecret, TOLERANCE_SECONDS, undefined, now);
        refuseFuture(signature, now);
      } catch (cause) {
        const message = "The event's signature is not the payment provider's, or is too old or from the future.";
        throw new AppError("VALIDATION_ERROR", message, { cause });
      }
      return { id: `stripe/${event.id}`, type: event.type, fact: factOf(event) };
    },
  };
}

/** Stripe's library checks only the age of a signature. */
function refuseFuture(signature: string, nowMs: number): void {
  const seconds = [...signature.matchAll(/(?:^|,)\s*t=(\d+)/g)].map(([, time]) => Number(time));
  if (seconds.some((time) => time * 1000 > nowMs + TOLERANCE_SECONDS * 1000)) throw new Error("the signature is from the future");
}

function sessionOf(order: CheckoutOrder, publicUrl: string): Stripe.Checkout.SessionCreateParams {
  const metadata = { purchase_id: order.purchaseId };
  const page = `${publicUrl}/ui/credits?purchase=${order.purchaseId}`;
  return {
    mode: "payment",
    client_reference_id: order.purchaseId,
    customer_email: order.email,
    metadata,
    payment_intent_data: { metadata },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: CURRENCY,
          unit_amount: Number(order.amount / NANO_PER_CENT),
          product_data: { name: `Credits for ${order.organizationName}` },
        },
      },
    ],
    success_url: `${page}&paid=true`,
    cancel_url: `${page}&paid=false`,
  };
}

function address(apiBase: string | undefined): Pick<Stripe.StripeConfig, "host" | "port" | "protocol"> {
  if (apiBase === undefined) return {};
  const url = new URL(apiBase);
  const protocol = url.protocol === "http:" ? "http" : "https";
  return { host: url.hostname, port: url.port || (protocol === "http" ? 80 : 443), protocol };
}

// Covers configuration errors such as a wrong key too: the caller cannot fix them, and the log has the reason.
function unavailable(internal: string, cause?: unknown): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The payment provider is not available. Try again later.", { internal, cause });
}
