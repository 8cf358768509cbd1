import type { SlowBodyLimits } from "../../../common/slow-body.ts";

/** Limits of connections. Node's server and call connections have the same. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** A streamed body may take as long as the training calls and transfers that it is for. */
export const BODY_LIMITS: SlowBodyLimits = { totalMs: 60_000, idleMs: 30_000, streamMs: 3_600_000 };
/** Longer than the 60 s of common load balancers, so that they close idle connections first. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;
export const CHECK_INTERVAL_MS = 5000;
