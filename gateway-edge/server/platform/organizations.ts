import type { z } from "zod";
import type { EdgeDeps } from "../../deps.ts";
import { pageQuery } from "../../schemas/fields.ts";
import { listAuditAnswer, organizationAuditQuery } from "../../schemas/platform/audit.ts";
import type { semanticCacheField } from "../../schemas/platform/semantic-cache.ts";
import * as schemas from "../../schemas/platform/teams.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { readAudit } from "./audit.ts";
import { budgetChange } from "./budgets.ts";
import { presentList, presentOrganization, sent } from "./present.ts";

const tag = "Organizations";

export function organizationOperations(deps: EdgeDeps): Operation[] {
  return [listOrganizations(deps), updateOrganization(deps), listOrganizationAudit(deps)];
}

const listOrganizations = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/organizations/list",
    summary: "List the organizations of the caller",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listOrganizationsAnswer,
    handler: async ({ query }, call) => {
      const { organizations, meta } = await control.organizations.listOrganizations({ page: query }, call.read());
      return presentList(organizations, meta, presentOrganization);
    },
  });

const updateOrganization = ({ control }: EdgeDeps) =>
  operation({
    method: "put",
    path: "/api/gw/organizations",
    summary: "Update an organization, or make it the active one of the session",
    tag,
    auth: "user",
    body: schemas.updateOrganizationBody,
    status: 200,
    answer: schemas.organizationAnswer,
    handler: async ({ body }, call) => {
      const threshold = body.lowBalanceThreshold;
      const request = {
        id: body.id,
        name: body.name,
        timezone: body.timezone,
        lowBalanceThreshold: typeof threshold === "number" ? BigInt(threshold) : undefined,
        clearLowBalanceThreshold: threshold === null,
        activate: body.active === true,
        logContent: body.logContent,
        logContentDays: body.logContentDays,
        ...semanticCacheChange(body.semanticCache),
        budget: budgetChange(body),
      };
      const { organization } = await control.organizations.updateOrganization(request, call.write());
      return { organization: presentOrganization(sent(organization, "organization")) };
    },
  });

function semanticCacheChange(given: z.infer<typeof semanticCacheField>) {
  if (!given) return { semanticCache: undefined, clearSemanticCache: given === null };
  const { enabled, threshold, embeddingModel } = given;
  const semanticCache = { enabled, threshold: threshold ?? undefined, embeddingModel: embeddingModel ?? undefined };
  return { semanticCache, clearSemanticCache: false };
}

const listOrganizationAudit = (deps: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/organizations/audit",
    summary: "List the audit log of the active organization, newest first, as JSON or JSON lines; for its owners",
    tag,
    auth: "user",
    query: organizationAuditQuery,
    status: 200,
    answer: listAuditAnswer,
    handler: ({ query }, call) => readAudit(deps, call, { ...query, ...query.range, ownOrganization: true }),
  });
