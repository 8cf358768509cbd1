import { AppError } from "../../../common/errors.ts";
import { maskKey, mintSecret, secretSha256 } from "../../../common/key-shape.ts";
import type { CreateKeyRequest } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import type { Reader } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";

interface MintedKey {
  readonly hash: string;
  readonly maskedKey: string;
  /** Empty for an imported key, whose secret is not known here. */
  readonly secret: string;
}

const SHA256_BYTES = 32;

/** A new key, or one that another gateway issued: keys are looked up by a hash of their SHA-256, so that is enough. */
export function mintedKey(deps: ControlDeps, { secretSha256: imported, maskedKey = "sk-..." }: CreateKeyRequest): MintedKey {
  if (imported) {
    if (imported.length !== SHA256_BYTES) throw new AppError("VALIDATION_ERROR", "sha256: must be 64 hexadecimal digits");
    return { hash: deps.secrets.keyHash(imported), maskedKey, secret: "" };
  }
  const secret = mintSecret(deps.random);
  return { hash: deps.secrets.keyHash(secretSha256(secret)), maskedKey: maskKey(secret), secret };
}

/** A key is imported once. */
export async function refuseKnown(reader: Reader, hash: string): Promise<void> {
  const known = (await reader.find("keys", "byHash", [hash])) ?? (await reader.find("keys", "byPreviousHash", [hash]));
  if (known) throw new AppError("ALREADY_EXISTS", "This key was imported before.");
}
