/** The heads of slots that changed since the anchor before, so that the order between slots is known to the second. Never changed. */
export interface Anchor {
  /** 1, 2, 3, ... */
  id: number;
  /** The hash of the anchor before. */
  previous: string;
  at: number;
  heads: readonly (readonly [slot: number, seq: number, hash: string])[];
  /** SHA-256 over the fields above. */
  hash: string;
}
