import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup } from "node:dns/promises";
import { placeOf } from "./place.ts";

/** Resolves a host name to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export const resolveAll: Resolve = (hostname) => lookup(hostname, { all: true });

/** The `lookup` option of node:net and of libraries above it. */
export type Lookup = (
  hostname: string,
  options: LookupOptions,
  done: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/** Thrown for a destination that the operator does not allow. */
class PlaceRefused extends Error {
  readonly code = "EPLACE";

  constructor(host: string) {
    super(`${host} is a ${placeOf(host)} address, which is not allowed here`);
    this.name = "PlaceRefused";
  }
}

/** Checks the code instead of the class, because socket errors are wrapped on the way. */
export const isPlaceRefused = (thrown: unknown): boolean => {
  const { code, cause } = Object(thrown) as { code?: unknown; cause?: { code?: unknown } };
  return code === "EPLACE" || cause?.code === "EPLACE";
};

/** Throws PlaceRefused for metadata services, and for private addresses unless they are allowed. */
export function judgePlace(host: string, { allowPrivate }: { allowPrivate: boolean }): void {
  const place = placeOf(host);
  if (place === "link-local" || (place === "private" && !allowPrivate)) throw new PlaceRefused(host);
}

/**
 * Resolves a name once and checks all its addresses; the connection uses one of exactly these addresses, so that DNS rebinding has no
 * effect.
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
