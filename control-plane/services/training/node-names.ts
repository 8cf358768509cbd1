import { judgePlace, type Resolve, resolveAll } from "../../../common/checked-lookup.ts";
import { AppError } from "../../../common/errors.ts";

const RESOLVE_MS = 2000;

/**
 * Refuses addresses of participants whose names resolve to the operator's network. A name that does not resolve yet passes, because it is
 * checked again at every connection.
 */
export async function refusePrivateNames(
  given: readonly { readonly url: string; readonly path: string }[],
  { allowPrivate, resolve = resolveAll }: { allowPrivate: boolean; resolve?: Resolve },
): Promise<void> {
  const byHost = Map.groupBy(
    given.filter(({ url }) => URL.canParse(url)),
    ({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, ""),
  );
  const answers = await Promise.all(
    [...byHost.keys()].map(async (host) => ({ host, addresses: await inTime(resolve(host)).catch(() => []) })),
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

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("too slow")), RESOLVE_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
