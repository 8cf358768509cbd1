import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import type { ServiceHandlers } from "../../common/grpc/server.ts";
import {
  type OrganizationsServiceService,
  SetOrganizationLimitsResponse,
  UpdateOrganizationResponse,
} from "../../proto/gen/tributary/organizations/v1/organizations.ts";
import { type BudgetChange, budgetOf, withBudget } from "../domain/budgets.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { rateLimitsOf, withRateLimits } from "../domain/rate-limits.ts";
import type { Organization, Role } from "../domain/records.ts";
import { isTimezone } from "../domain/time-buckets.ts";
import { readPage } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { followBudget } from "../writes/budgets.ts";
import { appendChange } from "../writes/feed.ts";
import { withThreshold } from "../writes/low-balance.ts";
import { requireActor, requireAdmin } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";
import { metaOf, organizationMessage, pageOf } from "./messages.ts";
import { write } from "./write.ts";

export function organizationsHandlers(deps: ControlDeps): ServiceHandlers<typeof OrganizationsServiceService> {
  return {
    async listOrganizations(request, context) {
      const actor = await requireActor(deps, context);
      await deps.edges.caughtUp();
      const page = pageOf(request.page);
      const { records, total } = await readPage(deps.store, "organizationMembers", {
        ...page,
        range: { index: "byUser", equals: [actor.user.id] },
      });
      const organizations = await deps.store.getMany(
        "organizations",
        records.map((member) => member.organizationId),
      );
      const messages = organizations.flatMap((organization, index) => {
        const role = records[index]?.role;
        return organization && role
          ? [organizationMessage(deps.store, organization, { role, activeId: actor.organizationId, now: deps.clock.now() })]
          : [];
      });
      return { organizations: await Promise.all(messages), meta: metaOf(page, total) };
    },

    async updateOrganization(request, context) {
      const actor = await requireActor(deps, context);
      const id = request.id ?? actor.organizationId;
      return write(deps, context, { actor, codec: UpdateOrganizationResponse }, async ({ tx, now, audit }) => {
        const [organization, membership] = [
          await tx.get("organizations", id),
          await tx.get("organizationMembers", `${id}/${actor.user.id}`),
        ];
        if (!organization || !membership) throw new AppError("NOT_FOUND", "There is no such organization.");
        const changes = changesOf(request);
        const { clearLowBalanceThreshold: clearThreshold, budget } = request;
        const updated = change(organization, { changes, clearThreshold, budget, role: membership.role, now });
        await tx.put("organizations", updated);
        await follow(tx, { before: organization, after: updated }, now);
        // Read again: a session that was ended meanwhile must not come back.
        const session = request.activate ? await tx.get("sessions", actor.session.id) : undefined;
        if (session) await tx.put("sessions", { ...session, organizationId: id });
        await audit({
          action: "organization.update",
          target: id,
          organizationId: id,
          details: { ...changes, ...budgetOf(updated), activate: request.activate },
        });
        const activeId = request.activate ? id : actor.organizationId;
        return { organization: await organizationMessage(tx, updated, { role: membership.role, activeId, now }) };
      });
    },

    async setOrganizationLimits(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: SetOrganizationLimitsResponse }, async ({ tx, now, audit }) => {
        const organization = await tx.get("organizations", request.id);
        if (!organization) throw new AppError("NOT_FOUND", "There is no such organization.");
        const updated = { ...withBudget(withRateLimits(organization, request.limits), request.budget), updatedAt: now };
        await tx.put("organizations", updated);
        await follow(tx, { before: organization, after: updated }, now);
        await appendChange(tx, { kind: "organization", subject: organization.id }, now);
        const details = { ...rateLimitsOf(updated), ...budgetOf(updated) };
        await audit({ action: "organization.limits", target: organization.id, organizationId: organization.id, details });
        // A platform admin stands in every organisation as its admin.
        const membership = await tx.get("organizationMembers", `${organization.id}/${actor.user.id}`);
        const view = { role: membership?.role ?? "admin", activeId: actor.organizationId, now } as const;
        return { organization: await organizationMessage(tx, updated, view) };
      });
    },
  };
}

/** What hangs on an organisation's settings, in the transaction that changes them. */
async function follow(tx: Transaction, { before, after }: { before: Organization; after: Organization }, now: number): Promise<void> {
  if (after === before) return;
  await followBudget(tx, { kind: "organization", id: after.id, organizationIds: [after.id] }, { before, after }, now);
  // Whether an edge may spend ahead hangs on the budget.
  if ((before.maxBudget === undefined) !== (after.maxBudget === undefined)) {
    await appendChange(tx, { kind: "organization", subject: after.id }, now);
  }
  if (after.lowBalanceThreshold === before.lowBalanceThreshold) return;
  const account = await tx.get("accounts", organizationAccount(after.id));
  if (account) await tx.put("accounts", withThreshold(account, after.lowBalanceThreshold));
}

function change(
  organization: Organization,
  asked: {
    changes: Partial<Organization>;
    clearThreshold: boolean;
    budget: BudgetChange | undefined;
    role: Role;
    now: number;
  },
): Organization {
  const { changes, clearThreshold, budget, role, now } = asked;
  // Whoever only switches to it changes nothing about it.
  if (Object.keys(changes).length === 0 && !clearThreshold && !budget) return organization;
  if (role === "member") throw new AppError("FORBIDDEN", "Only an owner or admin of the organization may change it.");
  const { lowBalanceThreshold, ...rest } = { ...withBudget(organization, budget), ...changes, updatedAt: now };
  return clearThreshold ? rest : { ...rest, ...defined({ lowBalanceThreshold }) };
}

function changesOf(request: {
  name?: string | undefined;
  timezone?: string | undefined;
  lowBalanceThreshold?: bigint | undefined;
}): Partial<Organization> {
  if (request.timezone !== undefined && !isTimezone(request.timezone)) {
    throw new AppError("VALIDATION_ERROR", `"${request.timezone}" is not a time zone.`, {
      details: [{ path: "body.timezone", message: "must be an IANA name" }],
    });
  }
  const { name, timezone, lowBalanceThreshold } = request;
  return defined({ name, timezone, lowBalanceThreshold });
}
