import { setBalance } from "../e2e/ledger-checks.ts";
import { adminToken, buy, call, newTenant } from "../helpers/api.ts";
import type { System } from "../helpers/system.ts";

/** The addresses and keys that every official client is tested with. */
export interface ClientSetup {
  /** Without and with /v1: both are documented, so both must work. */
  baseUrls: readonly string[];
  key: string;
  /** A key of a team that an admin has blocked. */
  blockedKey: string;
  /** A key of an organization with exactly zero credits. */
  emptyKey: string;
}

/** Every case by its id; each client's suite must name them all. */
export const CASES = [
  "base-url-plain",
  "base-url-v1",
  "chat",
  "stream",
  "stream-helper",
  "stream-usage",
  "models-list",
  "models-retrieve",
  "wrong-key",
  "unknown-model",
  "blocked-team",
  "quota",
  "max-tokens",
  "default-headers",
] as const;

export type CaseId = (typeof CASES)[number];

export async function prepareClients(system: System): Promise<ClientSetup> {
  const [good, blocked, empty] = [await newTenant(system), await newTenant(system), await newTenant(system)];
  for (const { token } of [good, blocked]) await buy(system, token, 1_000_000_000);
  await setBalance(system, empty, 0);
  const block = `/api/admin/teams/${blocked.teamId}/block`;
  expect((await call(system.url, "POST", block, { token: await adminToken(system), body: {} })).status).toBe(200);
  return { baseUrls: [system.url, `${system.url}/v1`], key: good.key, blockedKey: blocked.key, emptyKey: empty.key };
}

/** One line for each case, so that a run shows what was proven with which client. */
export function printCase(client: string, id: CaseId, passed: boolean): void {
  process.stderr.write(`client ${client}: ${id} ${passed ? "pass" : "FAIL"}\n`);
}
