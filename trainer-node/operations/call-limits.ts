/** Deepest nesting of a JSON body. */
export const JSON_DEPTH_MAX = 64;
/** Most bytes of one client's parameters. */
export const PART_BYTES_MAX = 2 ** 32 - 65_536;
/** Most bytes of a body beside its parameters: they become one JavaScript string. */
export const REST_BYTES_MAX = 256 * 1024 * 1024;
/** Most clients of one aggregate. */
export const CLIENTS_MAX = 10_000;
