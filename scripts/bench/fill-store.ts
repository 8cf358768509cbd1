import { systemClock as clock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import { maskKey, mintSecret, secretSha256 } from "../../common/key-shape.ts";
import { systemRandom as random } from "../../common/random.ts";
import { openKeyring } from "../../control-plane/crypto/open-keyring.ts";
import { loadRootKeys } from "../../control-plane/crypto/root-secret.ts";
import type { ApiKey, Team } from "../../control-plane/domain/records.ts";
import { reportedCall, settle } from "../../control-plane/proof/ledger-fixture.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import type { Tenant } from "../../test/helpers/api.ts";

type Owner = Pick<Tenant, "organizationId" | "userId" | "teamId">;

/** As many keys as a team may have. */
const KEYS_OF_A_TEAM = 1000;
const BATCH = 2000;
/** Batches on their way: while one is flushed to the disk, the next is made. */
const BATCHES_AT_ONCE = 3;
const DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** Writes keys of new teams of an organization; returns the secrets of the last `secrets` of them. */
export async function fillKeys(
  store: Store,
  { count, secrets, owner, dataDir }: { count: number; secrets: number; owner: Owner; dataDir: string },
): Promise<string[]> {
  const root = loadRootKeys({ secretKey: undefined, secretKeyPrevious: undefined, dataDir }, random);
  const keyring = await openKeyring(store, root, random);
  const kept: string[] = [];
  const now = clock.now();
  const { organizationId, userId: createdBy } = owner;
  for (let first = 0; first < count; first += KEYS_OF_A_TEAM) {
    const name = `filled ${first}`;
    const team: Team = { id: newId("team", { clock, random }), name, nameKey: name, organizationId, createdAt: now, updatedAt: now };
    const keys: ApiKey[] = [];
    for (let place = first; place < Math.min(count, first + KEYS_OF_A_TEAM); place++) {
      const secret = mintSecret(random);
      if (place >= count - secrets) kept.push(secret);
      const [hash, maskedKey] = [keyring.keyHash(secretSha256(secret)), maskKey(secret)];
      const id = newId("key", { clock, random });
      keys.push({ id, hash, name: `filled ${place}`, maskedKey, teamId: team.id, organizationId, createdBy, createdAt: now });
    }
    await store.transaction("every", async (tx) => {
      tx.insertNew("teams", [team]);
      tx.insertNew("keys", keys);
    });
  }
  return kept;
}

/** Settles calls of the last 30 days of an organization, one nano-USD each: a usage row and a ledger entry for each of them. */
export async function fillRows(store: Store, { count, owner }: { count: number; owner: Owner }): Promise<void> {
  const now = clock.now();
  const { organizationId, teamId } = owner;
  const settling: Promise<unknown>[] = [];
  for (let first = 0; first < count; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - first) }, (_, place) => {
      const createdAt = Math.floor(now - DAYS * DAY_MS + ((first + place) / count) * (DAYS * DAY_MS - 60_000));
      const changes = { createdAt, completedAt: createdAt + 900, organizationId, teamId, apiKeyId: "key_filled" };
      return reportedCall(newId("call", { clock, random }), 1n, changes);
    });
    settling.push(settle(store, rows, now));
    if (settling.length >= BATCHES_AT_ONCE) await settling.shift();
  }
  await Promise.all(settling);
}
