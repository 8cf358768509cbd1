import { useSyncExternalStore } from "react";

/** What `SecretHost` shows: secrets that the server gives once and never again. */
export interface ShownSecret {
  readonly title: string;
  readonly secrets: readonly string[];
}

/**
 * The state is outside React's tree on purpose: a screen that polls, navigates or fails may unmount the component that made the secret,
 * and the secret must stay on the screen until it is stored.
 */
let shown: ShownSecret | undefined;
const listeners = new Set<() => void>();

export function showSecret(secret: ShownSecret): void {
  set(secret);
}

/** Closes the dialog; for a log-out, after which the next person must not see it. */
export function dropShownSecret(): void {
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
