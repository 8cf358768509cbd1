import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  type OrganizationsServiceService,
  SetOrganizationBlockResponse,
  SetOrganizationLimitsResponse,
} from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import { budgetOf, withBudget } from "../../domain/budgets.ts";
import { rateLimitsOf, withRateLimits } from "../../domain/rate-limits.ts";
import type { Organization } from "../../domain/records.ts";
import { readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import type { Reader } from "../../stores/store.ts";
import { appendChange } from "../../writes/feed.ts";
import { followSettings, putBlock } from "../../writes/organizations.ts";
import { type Actor, requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, organizationMessage, pageOf } from "../messages.ts";
import { write } from "../write.ts";

type Handlers = ServiceHandlers<typeof OrganizationsServiceService>;

/** Handlers for platform admins: all organizations. */
export function adminOrganizationHandlers(
  deps: ControlDeps,
): Pick<Handlers, "listAllOrganizations" | "setOrganizationLimits" | "setOrganizationBlock"> {
  return {
    async listAllOrganizations(request, context) {
      const actor = await requireAdmin(deps, context);
      await deps.edges.caughtUp();
      const page = pageOf(request.page);
      const search = request.search?.toLowerCase();
      const { records, total } = await readPage(deps.store, "organizations", {
        ...page,
        ...(search ? { where: ({ id, name }: Organization) => id.includes(search) || name.toLowerCase().includes(search) } : {}),
      });
      const now = deps.clock.now();
      const organizations = await Promise.all(records.map((organization) => messageFor(deps.store, organization, { actor, now })));
      return { organizations, meta: metaOf(page, total) };
    },

    async setOrganizationLimits(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(
        deps,
        context,
        { actor, codec: SetOrganizationLimitsResponse, scopes: organizationScope(deps.store, request.id) },
        async ({ tx, now, audit }) => {
          const organization = await requireOrganization(tx, request.id);
          const limited = withBudget(withRateLimits(organization, request.limits), request.budget);
          const updated = { ...limited, name: request.name ?? organization.name, updatedAt: now };
          await tx.put("organizations", updated);
          await followSettings(tx, { before: organization, after: updated }, now);
          await appendChange(tx, { kind: "organization", subject: organization.id }, now);
          const details = { name: request.name, ...rateLimitsOf(updated), ...budgetOf(updated) };
          await audit({ action: "organization.limits", target: organization.id, organizationId: organization.id, details });
          return { organization: await messageFor(tx, updated, { actor, now }) };
        },
      );
    },

    async setOrganizationBlock({ id, blocked, reason }, context) {
      const actor = await requireAdmin(deps, context);
      return write(
        deps,
        context,
        { actor, codec: SetOrganizationBlockResponse, scopes: organizationScope(deps.store, id) },
        async ({ tx, now, audit }) => {
          const updated = await putBlock(tx, await requireOrganization(tx, id), { blocked, reason }, now);
          const action = blocked ? "organization.block" : "organization.unblock";
          await audit({ action, target: id, organizationId: id, details: { reason } });
          return { organization: await messageFor(tx, updated, { actor, now }) };
        },
      );
    },
  };
}

async function requireOrganization(reader: Reader, id: string): Promise<Organization> {
  const organization = await reader.get("organizations", id);
  if (!organization) throw new AppError("NOT_FOUND", "There is no such organization.");
  return organization;
}

/** A platform admin has the role admin in every organization. */
async function messageFor(reader: Reader, organization: Organization, { actor, now }: { actor: Actor; now: number }) {
  const membership = await reader.get("organizationMembers", `${organization.id}/${actor.user.id}`);
  return organizationMessage(reader, organization, { role: membership?.role ?? "admin", activeId: actor.organizationId, now });
}
