import { canOpen, hashesOf, type Peppers, type RootSecrets, type Secrets } from "./secrets.ts";

/** The root secrets of a control plane: SECRET_KEY and, during a rotation, SECRET_KEY_PREVIOUS. */
export interface RootKeys {
  /** SECRET_KEY. */
  readonly wanted: RootSecrets;
  /** SECRET_KEY_PREVIOUS. */
  readonly previous: RootSecrets | undefined;
}

/**
 * The secrets of a store whose root secret may be rotated. It seals and signs with the store's current root secret, which moves from the
 * previous to the wanted one while the process runs, and opens and verifies with both. Hashes do not depend on either.
 */
export class Keyring implements Secrets {
  readonly keyHash: Secrets["keyHash"];
  readonly tokenHash: Secrets["tokenHash"];
  readonly #keys: RootKeys;
  #current: RootSecrets;
  #other: RootSecrets | undefined;

  constructor(keys: RootKeys, { peppers, fingerprint }: { peppers: Peppers; fingerprint: string }) {
    const { keyHash, tokenHash } = hashesOf(peppers);
    this.keyHash = keyHash;
    this.tokenHash = tokenHash;
    this.#keys = keys;
    this.#current = keys.wanted;
    this.use(fingerprint);
  }

  /** Makes the root secret with this fingerprint the current one. Throws if the control plane does not have it. */
  use(fingerprint: string): void {
    const { wanted, previous } = this.#keys;
    const current = [wanted, previous].find((key) => key?.fingerprint === fingerprint);
    if (!current) throw new Error("SECRET_KEY was rotated on another control plane, and this one does not have the new one");
    this.#current = current;
    this.#other = current === wanted ? previous : wanted;
  }

  /** Fingerprint of SECRET_KEY, whether or not it is the current one. */
  get wanted(): string {
    return this.#keys.wanted.fingerprint;
  }

  /** Whether a text is sealed with the current root secret. */
  isCurrent(sealed: string): boolean {
    return canOpen(this.#current, sealed);
  }

  seal(plain: Uint8Array): string {
    return this.#current.seal(plain);
  }

  /** Seals with SECRET_KEY, whether or not it is the current one. */
  sealAsWanted(plain: Uint8Array): string {
    return this.#keys.wanted.seal(plain);
  }

  open(sealed: string): Buffer {
    return this.#other === undefined || this.isCurrent(sealed) ? this.#current.open(sealed) : this.#other.open(sealed);
  }

  get jwtKeys(): Secrets["jwtKeys"] {
    return [...this.#current.jwtKeys, ...(this.#other?.jwtKeys ?? [])];
  }

  get fingerprint(): string {
    return this.#current.fingerprint;
  }

  get receiptSeed(): Uint8Array {
    return this.#current.receiptSeed;
  }
}
