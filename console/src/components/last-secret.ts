import { useSyncExternalStore } from "react";

/**
 * The secret of the last key created in this tab, so that code examples can show it. It is held in memory only and lost on reload.
 */
let latest: { readonly keyId: string; readonly secret: string } | undefined;
const listeners = new Set<() => void>();

export function rememberSecret(keyId: string, secret: string): void {
  latest = { keyId, secret };
  for (const listener of listeners) listener();
}

export function clearLastSecret(): void {
  latest = undefined;
  for (const listener of listeners) listener();
}

export function useLastSecret(): typeof latest {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => latest,
  );
}
