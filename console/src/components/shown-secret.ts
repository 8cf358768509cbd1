import { useSyncExternalStore } from "react";

/** Secrets that the server returns only once, shown by `SecretHost`. */
export interface ShownSecret {
  readonly title: string;
  readonly secrets: readonly string[];
  /** Shows the secrets as one text that can be downloaded under this name. */
  readonly fileName?: string;
}

/**
 * The state is outside the React tree: a screen that polls, navigates or fails may unmount the component that created the secret,
 * and the secret must stay visible until the user has saved it.
 */
let shown: ShownSecret | undefined;
const listeners = new Set<() => void>();

export function showSecret(secret: ShownSecret): void {
  set(secret);
}

/** Closes the dialog, also on logout, so that the next user does not see the secret. */
export function hideSecret(): void {
  set(undefined);
}

export function useShownSecret(): ShownSecret | undefined {
  return useSyncExternalStore(subscribe, () => shown);
}

function set(next: ShownSecret | undefined): void {
  shown = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
