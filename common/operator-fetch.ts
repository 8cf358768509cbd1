import { OPERATOR_GUARD } from "./outbound.ts";

let loading: Promise<typeof globalThis.fetch> | undefined;

/** `fetch` for addresses that the operator sets, such as those of the deployment's own processes. */
export const operatorFetch: typeof globalThis.fetch = async (input, init) => {
  // Loaded with the first call: many nodes never make one.
  loading ??= import("./outbound-undici.ts").then(({ guardedFetch }) => guardedFetch(OPERATOR_GUARD));
  const fetchGuarded = await loading;
  return await fetchGuarded(input, init);
};
