import type { EdgeDeps } from "../../../deps.ts";
import { idParams, searchQuery } from "../../../schemas/fields.ts";
import { blockBody } from "../../../schemas/platform/admin.ts";
import { grantAnswer, grantBody } from "../../../schemas/platform/billing.ts";
import { listOrganizationsAnswer, organizationAnswer, organizationLimitsBody } from "../../../schemas/platform/teams.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { budgetChange } from "../budgets.ts";
import { money, presentLedgerEntry, presentList, presentOrganization, sent } from "../present.ts";
import { limitsChange } from "../rate-limits.ts";

const tag = "Admin";
const auth = "admin";

export function adminOrganizationOperations(deps: EdgeDeps): Operation[] {
  return [
    listOrganizations(deps),
    setOrganizationLimits(deps),
    grantCredits(deps),
    setOrganizationBlock(deps, { path: "/api/admin/organizations/:id/block", blocked: true }),
    setOrganizationBlock(deps, { path: "/api/admin/organizations/:id/unblock", blocked: false }),
  ];
}

const listOrganizations = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/organizations",
    summary: "List all organizations with balance and status; `search` matches name or id",
    tag,
    auth,
    query: searchQuery,
    status: 200,
    answer: listOrganizationsAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      const { organizations, meta } = await control.organizations.listAllOrganizations({ page: { page, pageSize }, search }, call.read());
      return presentList(organizations, meta, presentOrganization);
    },
  });

const setOrganizationLimits = ({ control }: EdgeDeps) =>
  operation({
    method: "patch",
    path: "/api/admin/organizations/:id",
    summary: "Rename an organization or change its rate limits or budget; null removes a limit",
    tag,
    auth,
    params: idParams,
    body: organizationLimitsBody,
    status: 200,
    answer: organizationAnswer,
    handler: async ({ params, body }, call) => {
      const request = { id: params.id, name: body.name, limits: limitsChange(body), budget: budgetChange(body) };
      const { organization } = await control.organizations.setOrganizationLimits(request, call.write());
      return { organization: presentOrganization(sent(organization, "organization")) };
    },
  });

const grantCredits = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/admin/organizations/:id/credits",
    summary: "Grant credits to an organization; a negative amount removes credits",
    tag,
    auth,
    params: idParams,
    body: grantBody,
    status: 201,
    answer: grantAnswer,
    handler: async ({ params, body }, call) => {
      const { entry, balance } = await control.ledger.grantCredits({ ...body, organizationId: params.id }, call.write());
      return { entry: presentLedgerEntry(sent(entry, "entry")), ...money("balance", balance) };
    },
  });

const setOrganizationBlock = ({ control }: EdgeDeps, { path, blocked }: { path: string; blocked: boolean }) =>
  operation({
    method: "post",
    path,
    summary: blocked
      ? "Block an organization and all its teams; purchases do not lift this block"
      : "Unblock an organization; teams with a block of their own stay blocked",
    tag,
    auth,
    params: idParams,
    body: blockBody,
    status: 200,
    answer: organizationAnswer,
    handler: async ({ params, body }, call) => {
      const request = { id: params.id, blocked, reason: body.reason };
      const { organization } = await control.organizations.setOrganizationBlock(request, call.write());
      return { organization: presentOrganization(sent(organization, "organization")) };
    },
  });
