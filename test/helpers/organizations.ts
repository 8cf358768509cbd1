import { systemClock as clock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import { maskKey, mintSecret, secretSha256 } from "../../common/key-shape.ts";
import { systemRandom as random } from "../../common/random.ts";
import { slotOf } from "../../common/slots.ts";
import { openKeyring } from "../../control-plane/crypto/open-keyring.ts";
import { loadRootKeys } from "../../control-plane/crypto/root-secret.ts";
import type { ApiKey, Organization, Team } from "../../control-plane/domain/records.ts";
import { openMongoStore } from "../../control-plane/stores/mongo/store.ts";
import { slotScope } from "../../control-plane/stores/scopes.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { grant } from "../../control-plane/writes/accounts.ts";

/** An organization that can make calls. */
export interface KeyedOrganization {
  readonly organization: Organization;
  readonly team: Team;
  readonly key: ApiKey;
  /** The API key as its owner has it. */
  readonly secret: string;
}

const KEYS_AT_ONCE = 1_000;
const SLOTS_AT_ONCE = 8;
/** The first admin, who exists in every store. */
const OWNER = 1;

/** Many organizations with a team, a key and credits each, written to the store itself: sign-ups would hash as many passwords. */
export async function makeOrganizations(
  { uri, database, secretKey }: { uri: string; database?: string; secretKey: string },
  { count, creditNano }: { count: number; creditNano: bigint },
): Promise<KeyedOrganization[]> {
  const store = await openMongoStore({ uri, ...(database === undefined ? {} : { database }), transactionMs: 60_000 });
  try {
    const keyring = await openKeyring(store, loadRootKeys({ secretKey, secretKeyPrevious: undefined, dataDir: "" }, random), random);
    const made = Array.from({ length: count }, (_, index) => draft(index, (secret) => keyring.keyHash(secretSha256(secret))));
    for (let start = 0; start < count; start += KEYS_AT_ONCE) {
      const keys = made.slice(start, start + KEYS_AT_ONCE).map(({ key }) => key);
      await store.transaction("identity", async (tx) => tx.insertNew("keys", keys));
    }
    const bySlot = [...Map.groupBy(made, ({ organization }) => slotOf(organization.id, store.slots))];
    const lanes = Array.from({ length: SLOTS_AT_ONCE }, async () => {
      for (let next = bySlot.pop(); next; next = bySlot.pop()) await insertInSlot(store, next, creditNano);
    });
    await Promise.all(lanes);
    return made;
  } finally {
    await store.close();
  }
}

function draft(index: number, hashOf: (secret: string) => string): KeyedOrganization {
  const now = clock.now();
  const [organizationId, teamId, secret] = [newId("org", { clock, random }), newId("team", { clock, random }), mintSecret(random)];
  const times = { createdAt: now, updatedAt: now };
  return {
    organization: { id: organizationId, name: `organization ${index}`, ownerId: OWNER, timezone: "UTC", ...times },
    team: { id: teamId, name: "Default", nameKey: "default", organizationId, ...times },
    key: {
      id: newId("key", { clock, random }),
      hash: hashOf(secret),
      name: "first",
      maskedKey: maskKey(secret),
      teamId,
      organizationId,
      createdBy: OWNER,
      createdAt: now,
    },
    secret,
  };
}

async function insertInSlot(
  store: Store,
  [slot, made]: readonly [number, readonly KeyedOrganization[]],
  creditNano: bigint,
): Promise<void> {
  await store.transaction(slotScope(slot), async (tx) => {
    tx.insertNew(
      "organizations",
      made.map(({ organization }) => organization),
    );
    tx.insertNew(
      "teams",
      made.map(({ team }) => team),
    );
    for (const { organization } of made) await grant(tx, { clock, random }, { organizationId: organization.id, amount: creditNano });
  });
}
