/** Keys of a row of a dataset that hold its label. */
export const LABEL_KEYS = ["label", "y", "target"] as const;

/** The key of the label in a row with these keys: one of the three names, else the last one. */
export const labelKeyIn = (keys: readonly string[]): string | undefined => LABEL_KEYS.find((key) => keys.includes(key)) ?? keys.at(-1);
