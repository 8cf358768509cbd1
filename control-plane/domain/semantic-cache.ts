/** Whether calls of an organization may be answered with the answer to a similar text. */
export interface SemanticCacheSetting {
  /** Absent: as the operator decided. */
  semanticCache?: SemanticCache;
}

export interface SemanticCache {
  enabled: boolean;
  /** The least similarity of a hit; absent: the operator's. */
  threshold?: number;
  /** Absent: the operator's. */
  embeddingModel?: string;
}
