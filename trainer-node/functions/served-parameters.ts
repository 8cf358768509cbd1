import { sha256 } from "../operations/answer.ts";

/** The parameters of published models that one thread keeps after the call that sent them. */
export interface ServedParameters {
  /** Those of a tenant: what one organization sent is not there for another. */
  of(tenant: string): TenantParameters;
}

/** The parameters that one tenant sent. */
export interface TenantParameters {
  /** Keeps parameters and returns the array that is kept, which is always the same one. */
  keep(parameters: Uint8Array): Uint8Array;
  /** Kept parameters by their reference, `sha256:` and the hash. */
  find(reference: string): Uint8Array | undefined;
}

/** Creates a store of the most recently used parameters, as many as fit. Larger ones are sent with every call. */
export function createServedParameters(bytesMax: number): ServedParameters {
  const kept = new Map<string, Uint8Array>();
  let bytes = 0;
  const find = (key: string): Uint8Array | undefined => {
    const known = kept.get(key);
    // Parameters in use move to the end of the eviction order.
    if (known && kept.delete(key)) kept.set(key, known);
    return known;
  };
  const keep = (key: string, parameters: Uint8Array): Uint8Array => {
    const known = find(key);
    if (known || parameters.byteLength > bytesMax) return known ?? parameters;
    kept.set(key, parameters);
    bytes += parameters.byteLength;
    for (const [oldest, { byteLength }] of kept) {
      if (bytes <= bytesMax) break;
      kept.delete(oldest);
      bytes -= byteLength;
    }
    return parameters;
  };
  return {
    of: (tenant) => ({
      keep: (parameters) => keep(`${tenant} sha256:${sha256([parameters])}`, parameters),
      find: (reference) => find(`${tenant} ${reference}`),
    }),
  };
}
