import type { ClientRequest, IncomingMessage } from "node:http";
import { isPlaceRefused, type Resolve } from "../../common/checked-lookup.ts";
import { createGuard, guardedRequest } from "../../common/outbound.ts";

/** One message to a webhook. */
export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The status of the answer, or why there was none, as shown to the organization. */
export type WebhookAnswer = { kind: "answered"; status: number } | { kind: "failed"; reason: string };

/** Sends a message once. Never throws. */
export type SendWebhook = (message: WebhookRequest) => Promise<WebhookAnswer>;

/** How webhooks are sent. */
export interface SenderOptions {
  /** Allows addresses of the operator's own network. Addresses of cloud metadata services are never allowed. */
  allowPrivate: boolean;
  timeoutMs?: number;
  /** Resolves a name to all its addresses. */
  resolve?: Resolve;
}

const TIMEOUT_MS = 10_000;

/**
 * Posts to an address that a tenant chose. The name is resolved once, every address is checked, and the connection uses one of the
 * checked addresses, which prevents DNS rebinding. Redirects are not followed, and only the status of the answer is read.
 */
export function createWebhookSender(options: SenderOptions): SendWebhook {
  const { timeoutMs = TIMEOUT_MS } = options;
  const guard = createGuard(options);
  return async ({ url, headers, body }) => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const sent = { ...headers, "content-length": Buffer.byteLength(body) };
      const outgoing = guardedRequest(new URL(url), { method: "POST", headers: sent, signal }, guard);
      return { kind: "answered", status: await statusOf(outgoing, body) };
    } catch (error) {
      return { kind: "failed", reason: reasonOf(error, timeoutMs) };
    }
  };
}

function statusOf(outgoing: ClientRequest, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", (response: IncomingMessage) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (isPlaceRefused(error)) return "the address is private";
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError" || name === "AbortError") return `no answer within ${timeoutMs / 1000} s`;
  return `could not be reached: ${code ?? message}`;
}
