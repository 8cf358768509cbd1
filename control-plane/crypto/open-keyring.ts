import { ConfigError } from "../../common/config.ts";
import type { Random } from "../../common/random.ts";
import { publishedKeys } from "../proof/receipt-keys.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Store, Transaction } from "../stores/store.ts";
import { Keyring, type RootKeys } from "./keyring.ts";
import { createReceiptSigner } from "./receipt-signer.ts";
import { readFormer, SETTINGS, sealedPeppers } from "./root-settings.ts";
import { canOpen, type Peppers, type RootSecrets } from "./secrets.ts";

const PEPPER_BYTES = 32;

/**
 * Binds the store to its root secret at the first start and refuses any other secret later. With another secret sessions are invalid and
 * provider credentials unreadable. During a rotation the store is bound to one of the two secrets that the control plane has.
 */
export async function openKeyring(store: Store, keys: RootKeys, random: Random): Promise<Keyring> {
  const found = await store.transaction("settings", async (tx) => {
    const stored = (await tx.get("settings", SETTINGS.fingerprint))?.value;
    const current = stored === undefined ? await boundTo(tx, keys) : withFingerprint(keys, stored);
    const former = await readFormer(tx);
    if (!current) return "another";
    if (former && !withFingerprint(keys, former.fingerprint)) return "unfinished";
    return { fingerprint: current.fingerprint, peppers: await peppersOf(tx, current, random) };
  });
  if (typeof found !== "string") return new Keyring(keys, found);
  throw new ConfigError([REFUSALS[found]]);
}

const REFUSALS = {
  another:
    "SECRET_KEY is not the one that this store was made with: its API keys, sessions and provider credentials cannot be read with it. " +
    "Set SECRET_KEY to the same value on every control plane of the store; where it was never set, it is in the file secret.key of the first DATA_DIR. " +
    "To rotate it, set SECRET_KEY_PREVIOUS to the store's value.",
  unfinished:
    "The rotation of SECRET_KEY is not finished: values of the store are sealed with the former one. " +
    "Set SECRET_KEY_PREVIOUS to it until a control plane logs that it can be removed.",
};

function withFingerprint({ wanted, previous }: RootKeys, fingerprint: string): RootSecrets | undefined {
  return [wanted, previous].find((key) => key?.fingerprint === fingerprint);
}

/** A store without a fingerprint is new or from before it: then its sealed values must open with the secret. */
async function boundTo(tx: Transaction, { wanted, previous }: RootKeys): Promise<RootSecrets | undefined> {
  for (const key of [wanted, previous]) {
    if (!key || !(await isSecretOf(tx, key))) continue;
    await tx.insert("settings", { id: SETTINGS.fingerprint, value: key.fingerprint });
    return key;
  }
  return undefined;
}

async function isSecretOf(reader: Reader, secrets: RootSecrets): Promise<boolean> {
  const receipts = createReceiptSigner(secrets);
  const keys = await publishedKeys(reader, receipts);
  if (keys.length > 0 && !keys.some(({ keyId }) => keyId === receipts.key.kid)) return false;
  for await (const { sealedCredential, sealedTls } of reader.scan("providers")) {
    if ([sealedCredential, sealedTls].some((sealed) => sealed !== undefined && !canOpen(secrets, sealed))) return false;
  }
  return true;
}

/** A store from before stored peppers has hashes made with those of its root secret. */
async function peppersOf(tx: Transaction, current: RootSecrets, random: Random): Promise<Peppers> {
  const stored = await tx.get("settings", SETTINGS.peppers);
  if (stored) return openPeppers(current.open(stored.value));
  const isNew = (await collect(tx.scan("users", { limit: 1 }))).length === 0;
  const peppers = isNew ? { key: random.bytes(PEPPER_BYTES), token: random.bytes(PEPPER_BYTES) } : current.peppers;
  await tx.insert("settings", sealedPeppers(current, peppers));
  return peppers;
}

const openPeppers = (bytes: Buffer): Peppers => ({ key: bytes.subarray(0, PEPPER_BYTES), token: bytes.subarray(PEPPER_BYTES) });
