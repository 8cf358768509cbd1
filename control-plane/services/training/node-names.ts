import { type Resolve, resolveAll } from "../../../common/checked-lookup.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { orElse } from "../../../common/ignore.ts";
import { placeOf } from "../../../common/place.ts";

const RESOLVE_MS = 2000;

/**
 * Refuses addresses of participants whose names resolve to the operator's network. A name that does not resolve yet passes, because it is
 * checked again at every connection.
 */
export async function refusePrivateNames(
  given: readonly { readonly url: string; readonly path: string }[],
  { allowPrivate, clock, resolve = resolveAll }: { allowPrivate: boolean; clock: Clock; resolve?: Resolve },
): Promise<void> {
  const byHost = Map.groupBy(
    given.filter(({ url }) => URL.canParse(url)),
    ({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, ""),
  );
  const answers = await Promise.all(
    [...byHost.keys()].map(async (host) => ({
      host,
      addresses: await orElse(inTime(clock, resolve(host)), [], "a name that does not resolve yet passes"),
    })),
  );
  for (const { host, addresses } of answers) {
    const path = byHost.get(host)?.[0]?.path ?? "";
    for (const { address } of addresses) {
      const reason = refusedPlace(address, { allowPrivate });
      if (reason === undefined) continue;
      const message = `resolves to a ${reason}`;
      throw new AppError("VALIDATION_ERROR", `The address of the node ${message}.`, { details: [{ path, message }] });
    }
  }
}

/** Why a node may not be at this address: what it is, and whether the operator can allow it. */
export function refusedPlace(host: string, { allowPrivate }: { allowPrivate: boolean }): string | undefined {
  const place = placeOf(host);
  // Metadata services of clouds are at such addresses.
  if (place === "link-local") return "link-local address, which is never allowed";
  if (place !== "private" || allowPrivate) return undefined;
  return "private address; the operator can allow such addresses with ALLOW_PRIVATE_NODES=true";
}

async function inTime<Value>(clock: Clock, work: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(RESOLVE_MS, () => reject(new Error("too slow")));
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}
