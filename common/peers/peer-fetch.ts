import { operatorFetch } from "../operator-fetch.ts";
import { OPERATOR_GUARD } from "../outbound.ts";
import type { PeerRole } from "./peer.ts";
import { serverOf, type Tls } from "./tls.ts";

/** `fetch` that presents this process's certificate to servers of the given roles, over its own connections; without TLS `operatorFetch`. */
export function peerFetch(tls: Tls | undefined, ...roles: readonly PeerRole[]): typeof fetch {
  if (tls?.ca === undefined) return operatorFetch;
  const { cert, key, ca } = tls;
  const options = { cert, key, ca, checkServerIdentity: serverOf(...roles) };
  let loading: Promise<typeof fetch> | undefined;
  return async (input, init) => {
    loading ??= import("../outbound-undici.ts").then(({ guardedFetch }) => guardedFetch(OPERATOR_GUARD, options));
    const send = await loading;
    return await send(input, init);
  };
}
