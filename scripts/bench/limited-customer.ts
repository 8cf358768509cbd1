import { adminToken, call, newTenant } from "../../test/helpers/api.ts";
import type { System } from "../../test/helpers/system.ts";

/** Limits that every call is counted against and no benchmark reaches. */
const LIMITS = { rpm: 100_000_000, tpm: 2_000_000_000, maxParallelRequests: 100_000 };

/** The header with the key of a paying customer whose organization has rate limits. */
export async function limitedCustomer(system: Pick<System, "url">): Promise<{ authorization: string }> {
  const tenant = await newTenant(system, { creditNano: 1_000_000_000_000 });
  const path = `/api/admin/organizations/${tenant.organizationId}`;
  const answer = await call(system.url, "PATCH", path, { token: await adminToken(system), body: LIMITS });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return { authorization: `Bearer ${tenant.key}` };
}
