import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { checkedLookup, isPlaceRefused, judgePlace, type Resolve, resolveAll } from "../../common/checked-lookup.ts";

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What came of it: the status that was answered, or why there was none, in words for the receiver's owner. */
export type WebhookAnswer = { kind: "answered"; status: number } | { kind: "failed"; reason: string };

/** Sends a message once. Never throws. */
export type SendWebhook = (message: WebhookRequest) => Promise<WebhookAnswer>;

export interface SenderOptions {
  /** Addresses of the operator's own network may be sent to. Those of cloud metadata services never. */
  allowPrivate: boolean;
  timeoutMs?: number;
  /** Every address of a name. */
  resolve?: Resolve;
}

const TIMEOUT_MS = 10_000;

/**
 * Posts to an address that a tenant chose. The name is looked up once, every address it has is judged, and the connection goes to one of
 * those very addresses: a name that changes its mind in between leads nowhere. Redirects are not followed, and of the answer only the status
 * is read.
 */
export function createWebhookSender(options: SenderOptions): SendWebhook {
  const { allowPrivate, timeoutMs = TIMEOUT_MS, resolve = resolveAll } = options;
  const judge = (address: string) => judgePlace(address, { allowPrivate });
  return async ({ url, headers, body }) => {
    const target = new URL(url);
    try {
      // An address in place of a name is never looked up.
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
