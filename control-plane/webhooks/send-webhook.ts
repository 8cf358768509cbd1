import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup } from "node:dns/promises";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { placeOf } from "../../common/place.ts";

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
  resolve?: (hostname: string) => Promise<readonly LookupAddress[]>;
}

const TIMEOUT_MS = 10_000;

/**
 * Posts to an address that a tenant chose. The name is looked up once, every address it has is judged, and the connection goes to one of
 * those very addresses: a name that changes its mind in between leads nowhere. Redirects are not followed, and of the answer only the status
 * is read.
 */
export function createWebhookSender(options: SenderOptions): SendWebhook {
  const { allowPrivate, timeoutMs = TIMEOUT_MS, resolve = resolveAll } = options;
  const judge = (address: string) => {
    const place = placeOf(address);
    if (place === "link-local" || (place === "private" && !allowPrivate)) throw new Refused();
  };
  const checkedLookup: Lookup = (hostname, lookupOptions, done) => {
    resolve(hostname)
      .then((addresses) => {
        for (const { address } of addresses) judge(address);
        const [first] = addresses;
        if (!first) throw new Error("ENOTFOUND");
        if (lookupOptions.all) done(null, [...addresses]);
        else done(null, first.address, first.family);
      })
      .catch((error: NodeJS.ErrnoException) => done(error, "", 0));
  };
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
        lookup: checkedLookup,
        agent: false,
        signal,
      });
      return { kind: "answered", status: await statusOf(outgoing, body) };
    } catch (error) {
      return { kind: "failed", reason: reasonOf(error, timeoutMs) };
    }
  };
}

type Lookup = (
  hostname: string,
  options: LookupOptions,
  done: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void;

class Refused extends Error {}

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

async function resolveAll(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true });
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Refused) return "the address is private";
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError" || name === "AbortError") return `no answer within ${timeoutMs / 1000} s`;
  return `could not be reached: ${code ?? message}`;
}
