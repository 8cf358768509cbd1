import type { Logger } from "../../common/logger.ts";
import { publishReceiptKey } from "../proof/receipt-keys.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import type { Keyring } from "./keyring.ts";
import type { ReceiptSigner } from "./receipt-signer.ts";
import { reseal } from "./reseal.ts";
import { readFormer, SETTINGS } from "./root-settings.ts";

interface Options {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly receipts: ReceiptSigner;
  readonly logger: Logger;
  /** Random id of this process. */
  readonly instance: string;
  /** Ends the process: it lacks the root secret that the store has now. */
  end(error: unknown): void;
}

/** What a control plane says of itself to the others: the fingerprint of its SECRET_KEY, and until when that counts. */
interface Presence {
  readonly wanted: string;
  readonly until: number;
}

const PREFIX = "secret-key-wanted/";
/** The first string after all strings with the prefix. */
const AFTER_PREFIX = "secret-key-wanted0";

/** How often a step runs. */
export const ROTATION_STEP_MS = 5000;
/** A control plane that is silent for this long is not waited for. */
const PRESENCE_MS = 60_000;

/**
 * Rotates the root secret from SECRET_KEY_PREVIOUS to SECRET_KEY while control planes are replaced one by one. The store's current secret
 * changes when every running control plane wants the new one; until then all of them seal with the former. Then sealed values are sealed
 * again (`reseal.ts`), and when a whole pass finds none, the former secret is not needed any more.
 */
export class RootSecretRotation {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** One step. Any number of control planes may run steps at once, and a step that fails is repeated. */
  async step(now: number): Promise<void> {
    const { store, keyring } = this.#options;
    await this.#announce(now);
    if (!(await this.#follow(now))) return;
    if (keyring.fingerprint !== keyring.wanted && (await this.#isWantedByAll(now))) await this.#begin(now);
    const former = await readFormer(store);
    if (former && keyring.fingerprint === keyring.wanted) await this.#finish(former.at, now);
  }

  /** Others do not wait for this control plane any more. */
  async leave(): Promise<void> {
    const { store, instance } = this.#options;
    if (isOfOneProcess(store)) return;
    await store.transaction("settings", (tx) => tx.remove("settings", PREFIX + instance));
  }

  async #announce(now: number): Promise<void> {
    const { store, keyring, instance } = this.#options;
    if (isOfOneProcess(store)) return;
    const presence: Presence = { wanted: keyring.wanted, until: now + PRESENCE_MS };
    await store.transaction("settings", (tx) => tx.put("settings", { id: PREFIX + instance, value: JSON.stringify(presence) }));
  }

  /** Another control plane may have begun the rotation. Returns whether this one has the store's secret. */
  async #follow(now: number): Promise<boolean> {
    const { store, keyring, receipts, end } = this.#options;
    const current = (await store.get("settings", SETTINGS.fingerprint))?.value;
    if (current === undefined || current === keyring.fingerprint) return true;
    try {
      keyring.use(current);
    } catch (error) {
      end(error);
      return false;
    }
    await publishReceiptKey(store, receipts, now);
    return true;
  }

  async #isWantedByAll(now: number): Promise<boolean> {
    const { store, keyring } = this.#options;
    const rows = await collect(store.scan("settings", { from: PREFIX, before: AFTER_PREFIX }));
    const presences = rows.map(({ value }) => JSON.parse(value) as Presence);
    return presences.every(({ wanted, until }) => wanted === keyring.wanted || until <= now);
  }

  async #begin(now: number): Promise<void> {
    const { store, keyring, logger } = this.#options;
    const [from, to] = [keyring.fingerprint, keyring.wanted];
    const hasBegun = await store.transaction("settings", async (tx) => {
      const peppers = await tx.get("settings", SETTINGS.peppers);
      if ((await tx.get("settings", SETTINGS.fingerprint))?.value !== from || !peppers) return false;
      await tx.put("settings", { id: SETTINGS.peppers, value: keyring.sealAsWanted(keyring.open(peppers.value)) });
      await tx.put("settings", { id: SETTINGS.former, value: JSON.stringify({ fingerprint: from, at: now }) });
      await tx.put("settings", { id: SETTINGS.fingerprint, value: to });
      return true;
    });
    await this.#follow(now);
    if (hasBegun) logger.info({}, "the rotation of SECRET_KEY has begun: new values are sealed with the new one");
  }

  async #finish(begunAt: number, now: number): Promise<void> {
    const { store, keyring, logger } = this.#options;
    const count = await reseal(this.#options);
    if (count > 0) logger.info({ count }, "records were sealed with the new SECRET_KEY");
    // A control plane may have sealed with the former secret until it learned of the rotation.
    if (count > 0 || (now - begunAt < PRESENCE_MS && !isOfOneProcess(store))) return;
    const isDone = await store.transaction("settings", async (tx) => {
      if ((await readFormer(tx))?.at !== begunAt || (await tx.get("settings", SETTINGS.fingerprint))?.value !== keyring.wanted)
        return false;
      await tx.remove("settings", SETTINGS.former);
      return true;
    });
    if (isDone) logger.info({}, "the rotation of SECRET_KEY is finished: SECRET_KEY_PREVIOUS can be removed from all control planes");
  }
}

const isOfOneProcess = ({ slots }: Store): boolean => slots === 1;
