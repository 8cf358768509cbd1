import type { ApiKey } from "../../api/types.ts";

const BOTH = "both";

export const SCOPE_CHOICES = [
  { value: BOTH, label: "Calls and training" },
  { value: "inference", label: "Calls only" },
  { value: "train", label: "Training only" },
];

/** The choice that a key's scopes are; a key that names both is as one without scopes. */
export const scopeValue = (scopes: ApiKey["scopes"] | undefined): string => (scopes?.length === 1 ? (scopes[0] ?? BOTH) : BOTH);

export const scopesOf = (choice: string): string[] | null => (choice === BOTH ? null : [choice]);
