import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { checkedLookup, isPlaceRefused, judgePlace, type Resolve, resolveAll } from "../../common/checked-lookup.ts";

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
  const { allowPrivate, timeoutMs = TIMEOUT_MS, resolve = resolveAll } = options;
  const judge = (address: string) => judgePlace(address, { allowPrivate });
  return async ({ url, headers, body }) => {
    const target = new URL(url);
    try {
      // A literal address is never passed to the look-up.
      judge(target.hostname);
      const send = target.protocol === "https:" ? httpsRequest : httpRequest;
      const signal = AbortSignal.timeout(timeoutMs);
      const outgoing = send(target, {
        method: "POST",
        headers: { ...headers, "content-length": Buffer.byteLength(body) },
        lookup: checkedLookup(judge, resolve),
        agent: false,
        signal,
      });
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
