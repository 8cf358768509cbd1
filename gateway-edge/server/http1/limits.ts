/** Limits of connections. Node's server and call connections have the same. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than the 60 s of common load balancers, so that they close idle connections first. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;
export const CHECK_INTERVAL_MS = 5000;
