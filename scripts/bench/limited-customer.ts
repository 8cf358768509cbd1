import { adminToken, call, newTenant, type Tenant } from "../../test/helpers/api.ts";
import type { System } from "../../test/helpers/system.ts";

/** Limits that every call is counted against and no benchmark reaches. */
const LIMITS = { rpm: 100_000_000, tpm: 2_000_000_000, maxParallelRequests: 100_000 };

/** A paying customer whose organization has rate limits, and the header with its key. */
interface LimitedCustomer {
  readonly customer: Tenant;
  readonly headers: { readonly authorization: string };
}

export async function limitedCustomer(system: Pick<System, "url">): Promise<LimitedCustomer> {
  const customer = await newTenant(system, { creditNano: 1_000_000_000_000 });
  const path = `/api/admin/organizations/${customer.organizationId}`;
  const answer = await call(system.url, "PATCH", path, { token: await adminToken(system), body: LIMITS });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return { customer, headers: { authorization: `Bearer ${customer.key}` } };
}
