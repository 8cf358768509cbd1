import type { Setting } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import type { Peppers, Secrets } from "./secrets.ts";

/** Settings of the store that belong to its root secret. */
export const SETTINGS = {
  /** Fingerprint of the current root secret. */
  fingerprint: "secret-key-fingerprint",
  /** During a rotation: what it replaces, and since when. */
  former: "secret-key-former",
  /** The keys of stored hashes, sealed with the current root secret. */
  peppers: "secret-key-peppers",
} as const;

/** A root secret that sealed values may still need. */
export interface FormerRoot {
  readonly fingerprint: string;
  readonly at: number;
}

export async function readFormer(reader: Reader): Promise<FormerRoot | undefined> {
  const stored = await reader.get("settings", SETTINGS.former);
  return stored && (JSON.parse(stored.value) as FormerRoot);
}

export function sealedPeppers(secrets: Pick<Secrets, "seal">, { key, token }: Peppers): Setting {
  return { id: SETTINGS.peppers, value: secrets.seal(Buffer.concat([key, token])) };
}
