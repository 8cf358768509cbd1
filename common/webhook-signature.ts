import { createHmac } from "node:crypto";
import type { Random } from "./random.ts";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

export function mintWebhookSecret(random: Random): string {
  return PREFIX + random.bytes(SECRET_BYTES).toString("base64");
}

/** Headers of Standard Webhooks, with which a receiver checks origin, integrity and age of a message. */
export function signedHeaders(message: { id: string; body: string; secret: string; now: number }): Record<string, string> {
  const timestamp = String(Math.floor(message.now / 1000));
  const key = Buffer.from(message.secret.slice(PREFIX.length), "base64");
  const signature = createHmac("sha256", key).update(`${message.id}.${timestamp}.${message.body}`).digest("base64");
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
