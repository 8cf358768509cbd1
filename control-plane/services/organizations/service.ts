import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  type OrganizationsServiceService,
  type SemanticCache as SemanticCacheMessage,
  UpdateOrganizationResponse,
} from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import { type BudgetChange, budgetOf, withBudget } from "../../domain/budgets.ts";
import type { Organization, Role } from "../../domain/records.ts";
import type { SemanticCache } from "../../domain/semantic-cache.ts";
import { isTimezone } from "../../domain/time-buckets.ts";
import { readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import { fileBytes } from "../../writes/file-bytes.ts";
import { followSettings } from "../../writes/organizations.ts";
import { requireActor } from "../actor.ts";
import { checkContentDays } from "../contents/content-days.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, organizationMessage, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { adminOrganizationHandlers } from "./admin.ts";

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

    async getStorage(_request, context) {
      const { organizationId } = await requireActor(deps, context);
      const used = await fileBytes(deps.store, organizationId);
      return { filesUsed: BigInt(used), filesLimit: BigInt(deps.config.filesBytesMax) };
    },

    async updateOrganization(request, context) {
      const actor = await requireActor(deps, context);
      const id = request.id ?? actor.organizationId;
      return write(
        deps,
        context,
        { actor, codec: UpdateOrganizationResponse, scopes: ["identity", organizationScope(deps.store, id)] },
        async ({ tx, now, audit }) => {
          const [organization, membership] = [
            await tx.get("organizations", id),
            await tx.get("organizationMembers", `${id}/${actor.user.id}`),
          ];
          if (!organization || !membership) throw new AppError("NOT_FOUND", "There is no such organization.");
          const changes = changesOf(request);
          const { clearLowBalanceThreshold: clearThreshold, clearSemanticCache, budget } = request;
          const updated = change(organization, { changes, clearThreshold, clearSemanticCache, budget, role: membership.role, now });
          await tx.put("organizations", updated);
          await followSettings(tx, { before: organization, after: updated }, now);
          // Read again in the transaction: a session that was revoked in between must stay revoked.
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
        },
      );
    },

    ...adminOrganizationHandlers(deps),
  };
}

function change(
  organization: Organization,
  asked: {
    changes: Partial<Organization>;
    clearThreshold: boolean;
    clearSemanticCache: boolean;
    budget: BudgetChange | undefined;
    role: Role;
    now: number;
  },
): Organization {
  const { changes, clearThreshold, clearSemanticCache, budget, role, now } = asked;
  // A request that only activates the organization does not change it.
  if (Object.keys(changes).length === 0 && !clearThreshold && !clearSemanticCache && !budget) return organization;
  if (role === "member") throw new AppError("FORBIDDEN", "Only an owner or admin of the organization may change it.");
  const { lowBalanceThreshold, semanticCache, ...rest } = { ...withBudget(organization, budget), ...changes, updatedAt: now };
  return {
    ...rest,
    ...(clearThreshold ? {} : defined({ lowBalanceThreshold })),
    ...(clearSemanticCache ? {} : defined({ semanticCache })),
  };
}

function changesOf(request: {
  name?: string | undefined;
  timezone?: string | undefined;
  lowBalanceThreshold?: bigint | undefined;
  logContent?: boolean | undefined;
  logContentDays?: number | undefined;
  semanticCache?: SemanticCacheMessage | undefined;
}): Partial<Organization> {
  if (request.timezone !== undefined && !isTimezone(request.timezone)) {
    throw new AppError("VALIDATION_ERROR", `"${request.timezone}" is not a time zone.`, {
      details: [{ path: "body.timezone", message: "must be an IANA name" }],
    });
  }
  const { name, timezone, lowBalanceThreshold, logContent, logContentDays } = request;
  checkContentDays(logContentDays);
  const semanticCache = request.semanticCache && semanticCacheOf(request.semanticCache);
  return defined({ name, timezone, lowBalanceThreshold, logContent, logContentDays, semanticCache });
}

function semanticCacheOf({ enabled, threshold, embeddingModel }: SemanticCacheMessage): SemanticCache {
  if (threshold !== undefined && !(threshold > 0 && threshold <= 1)) {
    throw new AppError("VALIDATION_ERROR", "The threshold of the semantic cache is above 0 and at most 1.", {
      details: [{ path: "body.semanticCache.threshold", message: "must be above 0 and at most 1" }],
    });
  }
  return { enabled, ...defined({ threshold, embeddingModel }) };
}
