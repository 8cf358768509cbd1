import { judgePlace, type Resolve, resolveAll } from "../../../common/checked-lookup.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { orElse } from "../../../common/ignore.ts";

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
    try {
      for (const { address } of addresses) judgePlace(address, { allowPrivate });
    } catch (cause) {
      const message = "resolves to a private address; the operator can allow such addresses with ALLOW_PRIVATE_NODES=true";
      throw new AppError("VALIDATION_ERROR", `The address of the node ${message}.`, { details: [{ path, message }], cause });
    }
  }
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
