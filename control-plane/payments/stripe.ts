import Stripe from "stripe";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { CURRENCY, NANO_PER_CENT } from "../domain/payments.ts";
import type { CheckoutOrder, Payments } from "./payments.ts";
import { factOf } from "./stripe-events.ts";

export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** Of a test double; absent: Stripe's own. */
  apiBase: string | undefined;
}

const TIMEOUT_MS = 8000;
const RETRIES_MAX = 1;
/** An event that was signed longer ago is a replay. */
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
      // The purchase's id makes a repeated request the same session.
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
      } catch (cause) {
        throw new AppError("VALIDATION_ERROR", "The event is not signed by the payment provider, or too long ago.", { cause });
      }
      return { id: `stripe/${event.id}`, type: event.type, fact: factOf(event) };
    },
  };
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

// Our own faults (a wrong key, a bad parameter) too: the caller can do nothing about them, and the log has the reason.
function unavailable(internal: string, cause?: unknown): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The payment provider cannot be used right now. Try again later.", { internal, cause });
}
