/**
 * Longer than any call takes: a session has an hour, a stream half of it unless more is configured. What a call holds is free after it, in case its
 * edge is gone for good.
 */
export const CALL_MS_MAX = 65 * 60_000;
