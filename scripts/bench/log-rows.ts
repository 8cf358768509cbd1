import type { Rollup, UsageRow } from "../../control-plane/domain/records.ts";
import { addCall, rollupKey, rollupOf } from "../../control-plane/domain/settlement.ts";
import { reportedCall } from "../../control-plane/proof/ledger-fixture.ts";
import type { Store } from "../../control-plane/stores/store.ts";

const DAYS = 30;
const DAY_MS = 24 * 3_600_000;
const BATCH = 5_000;
const MODELS = ["gpt-4o", "gpt-4o-mini", "claude-sonnet", "claude-haiku", "gemini-pro", "llama-70b", "mistral-large", "embed-small"];
const PROVIDERS = ["openai", "anthropic", "google", "groq"];
const KEYS = 20;
const END_USERS = 5_000;
/** One row in so many has the rare model. */
const RARE = 50_000;
export const RARE_MODEL = "rare-model";

interface Filling {
  readonly rows: number;
  readonly organizationId: string;
  readonly teamId: string;
  readonly now: number;
}

/** Writes free calls of the last 30 days with their roll-ups through the store's port, without ledger entries. */
export async function fillLogs(store: Store, filling: Filling): Promise<void> {
  const sums = new Map<string, Rollup>();
  for (let first = 0; first < filling.rows; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, filling.rows - first) }, (_, place) => logRow(first + place, filling));
    for (const row of rows) addTo(sums, row);
    await store.transaction("every", async (tx) => tx.insertNew("usage", rows));
  }
  const rollups = [...sums.values()];
  for (let first = 0; first < rollups.length; first += BATCH) {
    await store.transaction("every", async (tx) => tx.insertNew("rollups", rollups.slice(first, first + BATCH)));
  }
}

/** The row of a number, always the same; its time rises with the number. */
export function logRow(number: number, { rows, organizationId, teamId, now }: Filling): UsageRow {
  const createdAt = Math.floor(now - DAYS * DAY_MS + (number / rows) * (DAYS * DAY_MS - 60_000));
  const mixed = (number * 2_654_435_761) % 2 ** 32;
  const key = mixed % KEYS;
  const status = mixed % 1_000 < 970 ? "success" : mixed % 1_000 < 990 ? "error" : mixed % 1_000 < 998 ? "cancelled" : "refused";
  return reportedCall(`call_${String(number).padStart(9, "0")}${mixed.toString(36)}`, 0n, {
    createdAt,
    completedAt: createdAt + 900,
    organizationId,
    teamId,
    teamName: "bench",
    apiKeyId: `key_bench${key}`,
    apiKeyName: `key ${key}`,
    model: number % RARE === RARE / 2 ? RARE_MODEL : (MODELS[(mixed >>> 8) % MODELS.length] as string),
    provider: PROVIDERS[(mixed >>> 8) % PROVIDERS.length] as string,
    status,
    ...(status === "success" ? {} : { errorCode: "UPSTREAM_ERROR" }),
    endUser: `user-${mixed % END_USERS}`,
    tags: number % 100 === 0 ? ["nightly"] : [],
  });
}

function addTo(sums: Map<string, Rollup>, row: UsageRow): void {
  const key = rollupKey(row);
  const known = sums.get(key);
  if (known) addCall(known, row);
  else sums.set(key, rollupOf(row));
}
