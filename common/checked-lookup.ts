import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { placeOf } from "./place.ts";

/** Every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export const resolveAll: Resolve = (hostname) => lookup(hostname, { all: true });

/** As node:net and everything above it take it. */
export type Lookup = (
  hostname: string,
  options: LookupOptions,
  done: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/** Somebody's address leads where the operator lets nobody send. */
class PlaceRefused extends Error {
  readonly code = "EPLACE";

  constructor(host: string) {
    super(`${host} is a private address`);
    this.name = "PlaceRefused";
  }
}

/** By its code: errors of sockets are put together again on the way. */
export const isPlaceRefused = (thrown: unknown): boolean => {
  const { code, cause } = Object(thrown) as { code?: unknown; cause?: { code?: unknown } };
  return code === "EPLACE" || cause?.code === "EPLACE";
};

/** Throws PlaceRefused for what nobody may send to: metadata services never, the operator's own network where it is not allowed. */
export function judgePlace(host: string, { allowPrivate }: { allowPrivate: boolean }): void {
  const place = placeOf(host);
  if (place === "link-local" || (place === "private" && !allowPrivate)) throw new PlaceRefused(host);
}

/** An address in place of a name is never looked up, and so is judged before anything connects to it. */
export function judgeLiteral({ hostname }: URL, judge: (address: string) => void): void {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) judge(host);
}

/**
 * Looks a name up once and judges every address it has; the connection goes to one of those very addresses, so that a name that changes its
 * mind in between leads nowhere.
 */
export function checkedLookup(judge: (address: string) => void, resolve: Resolve = resolveAll): Lookup {
  return (hostname, { all }, done) => {
    resolve(hostname)
      .then((addresses) => {
        for (const { address } of addresses) judge(address);
        const [first] = addresses;
        if (!first) throw Object.assign(new Error("ENOTFOUND"), { code: "ENOTFOUND" });
        if (all) done(null, [...addresses]);
        else done(null, first.address, first.family);
      })
      .catch((error: NodeJS.ErrnoException) => done(error, "", 0));
  };
}
