/** Where vectors are compared: only those of one organization and of requests that are equal but for the compared text. */
export interface VectorPlace {
  readonly organizationId: string;
  readonly scope: string;
}

export interface Neighbor {
  /** The key of the answer in the response cache. */
  readonly key: string;
  /** The cosine of the angle between the two vectors. */
  readonly similarity: number;
}

/** Vectors of cached requests. It holds no text and no answer: those are in the response cache alone. */
export interface VectorIndex {
  /** The most similar vector of the place; undefined: there is none of the same size. */
  nearest(place: VectorPlace, vector: Float32Array): Neighbor | undefined;
  /** The vector has length 1. */
  add(place: VectorPlace, vector: Float32Array, entry: { readonly key: string; readonly ttlMs: number }): void;
  remove(place: VectorPlace, key: string): void;
  clear(): void;
  held(): { readonly entries: number; readonly bytes: number };
}
