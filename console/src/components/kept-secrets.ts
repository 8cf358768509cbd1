import { useSyncExternalStore } from "react";

/**
 * Secrets of keys that were made in this tab, so that code examples can show the real one. In memory only: a reload forgets them, as
 * the server did when it answered.
 */
let latest: { readonly keyId: string; readonly secret: string } | undefined;
const listeners = new Set<() => void>();

export function keepSecret(keyId: string, secret: string): void {
  latest = { keyId, secret };
  for (const listener of listeners) listener();
}

export function forgetSecrets(): void {
  latest = undefined;
  for (const listener of listeners) listener();
}

export function useKeptSecret(): typeof latest {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => latest,
  );
}
