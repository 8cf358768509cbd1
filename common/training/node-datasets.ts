/** The datasets that every trainer node has by name. They are public, and nodes train on one split of them and evaluate on another. */
export const NODE_DATASETS = ["digits", "blobs", "moons", "line", "topics"] as const;
