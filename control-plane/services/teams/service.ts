import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { BudgetChange } from "../../../proto/gen/tributary/budgets/v1/budgets.ts";
import {
  CreateTeamResponse,
  RemoveMemberResponse,
  SetTeamBlockResponse,
  type TeamsServiceService,
  UpdateMemberResponse,
  type UpdateTeamRequest,
  UpdateTeamResponse,
} from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { budgetOf, withBudget } from "../../domain/budgets.ts";
import { manages } from "../../domain/permissions.ts";
import { rateLimitsOf, withRateLimits } from "../../domain/rate-limits.ts";
import type { Team } from "../../domain/records.ts";
import { collect, readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { insertTeam } from "../../writes/accounts.ts";
import { followBudget } from "../../writes/budgets.ts";
import { appendChange } from "../../writes/feed.ts";
import { type Actor, requireActor, requireAdmin, requireOrganizationManager } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { keyMessage, memberMessages, metaOf, pageOf, teamMessage, teamSpends } from "../messages.ts";
import { invitationHandlers } from "../organizations/invitations.ts";
import { changeRole, removeFromTeam } from "../organizations/members.ts";
import { write } from "../write.ts";
import { requireManagedTeam, requireTeam, teamScopes, visibleTeamIds } from "./access.ts";
import { deleteTeam } from "./delete-team.ts";

type Handlers = ServiceHandlers<typeof TeamsServiceService>;

export function teamsHandlers(deps: ControlDeps): Handlers {
  return {
    listTeams: listTeams(deps),
    createTeam: createTeam(deps),
    getTeam: getTeam(deps),
    updateTeam: updateTeam(deps),
    deleteTeam: deleteTeam(deps),
    updateMember: updateMember(deps),
    removeMember: removeMember(deps),
    setTeamBlock: setTeamBlock(deps),
    ...invitationHandlers(deps),
  };
}

const listTeams =
  (deps: ControlDeps): Handlers["listTeams"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await deps.edges.caughtUp(actor.organizationId);
    const page = pageOf(request.page);
    const visible = await visibleTeamIds(deps.store, actor);
    const search = request.search?.toLowerCase() ?? "";
    const where = (team: Team) => (visible === "all" || visible.has(team.id)) && team.nameKey.includes(search);
    const { records, total } = await readPage(deps.store, "teams", {
      ...page,
      range: { index: "byOrganization", equals: [actor.organizationId] },
      where,
    });
    const now = deps.clock.now();
    const spends = await teamSpends(deps.store, actor.organizationId, now);
    return { teams: await Promise.all(records.map((team) => teamMessage(deps.store, team, now, spends))), meta: metaOf(page, total) };
  };

const createTeam =
  (deps: ControlDeps): Handlers["createTeam"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    requireOrganizationManager(actor);
    return write(
      deps,
      context,
      { actor, codec: CreateTeamResponse, scopes: ["identity", organizationScope(deps.store, actor.organizationId)] },
      async ({ tx, now, audit }) => {
        await refuseTakenName(tx, actor.organizationId, request.name);
        const created = await insertTeam(tx, deps, { name: request.name, organizationId: actor.organizationId, ownerId: actor.user.id });
        const team = await putLimits(
          tx,
          { before: created, after: withTeamLimits(created, { ...request, clear: [] }) },
          request.budget,
          now,
        );
        await audit({ action: "team.create", target: team.id, details: { name: team.name, ...limitsOf(team) } });
        return { team: await teamMessage(tx, team, now) };
      },
    );
  };

const getTeam =
  (deps: ControlDeps): Handlers["getTeam"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await deps.edges.caughtUp(actor.organizationId);
    const { team } = await requireTeam(deps.store, actor, request.id);
    const now = deps.clock.now();
    const keys = await collect(deps.store.scan("keys", { index: "byTeam", equals: [team.id] }));
    return {
      team: await teamMessage(deps.store, team, now),
      members: await memberMessages(deps.store, team.id, now),
      apiKeys: await Promise.all(keys.map((key) => keyMessage(deps.store, key, now))),
    };
  };

const updateTeam =
  (deps: ControlDeps): Handlers["updateTeam"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(
      deps,
      context,
      { actor, codec: UpdateTeamResponse, scopes: await teamScopes(deps.store, request.id) },
      async ({ tx, now, audit }) => {
        const { team } = await requireManagedTeam(tx, actor, request.id);
        const name = request.name ?? team.name;
        if (name.toLowerCase() !== team.nameKey) await refuseTakenName(tx, team.organizationId, name);
        if (request.budget) await requireBudgetManager(tx, actor, team);
        const after = { ...withTeamLimits(team, request), name, nameKey: name.toLowerCase(), updatedAt: now };
        const updated = await putLimits(tx, { before: team, after }, request.budget, now);
        await appendChange(tx, { kind: "team", subject: team.id }, now);
        await audit({
          action: "team.update",
          target: team.id,
          organizationId: team.organizationId,
          details: { name, ...limitsOf(updated) },
        });
        return { team: await teamMessage(tx, updated, now) };
      },
    );
  };

const updateMember =
  (deps: ControlDeps): Handlers["updateMember"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: UpdateMemberResponse, scopes: "identity" }, (scope) => changeRole(scope, actor, request));
  };

const removeMember =
  (deps: ControlDeps): Handlers["removeMember"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: RemoveMemberResponse, scopes: "identity" }, (scope) =>
      removeFromTeam(scope, actor, request),
    );
  };

const setTeamBlock =
  (deps: ControlDeps): Handlers["setTeamBlock"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    return write(
      deps,
      context,
      { actor, codec: SetTeamBlockResponse, scopes: await teamScopes(deps.store, request.id) },
      async ({ tx, now, audit }) => {
        const team = await tx.get("teams", request.id);
        if (!team) throw new AppError("NOT_FOUND", "There is no such team.");
        const { blockedByAdminAt, blockReason, ...open } = team;
        const reason = request.reason ?? blockReason;
        const updated: Team = request.blocked
          ? { ...open, blockedByAdminAt: blockedByAdminAt ?? now, ...(reason === undefined ? {} : { blockReason: reason }), updatedAt: now }
          : { ...open, updatedAt: now };
        await tx.put("teams", updated);
        await appendChange(tx, { kind: "team", subject: team.id }, now);
        await audit({
          action: request.blocked ? "team.block" : "team.unblock",
          target: team.id,
          organizationId: team.organizationId,
          details: { reason: request.reason },
        });
        return { team: await teamMessage(tx, updated, now) };
      },
    );
  };

/** The budget of a team is set by managers of the organization; managers of the team alone must not raise it. */
async function requireBudgetManager(reader: Reader, actor: Actor, team: Team): Promise<void> {
  const membership = await reader.get("organizationMembers", `${team.organizationId}/${actor.user.id}`);
  if (!manages(membership?.role)) throw new AppError("FORBIDDEN", "Only an owner or admin of the organization may change a team's budget.");
}

async function refuseTakenName(reader: Reader, organizationId: string, name: string): Promise<void> {
  if (await reader.find("teams", "byName", [organizationId, name.toLowerCase()])) {
    throw new AppError("ALREADY_EXISTS", "The organization has a team with this name already.", {
      details: [{ path: "body.name", message: "is taken" }],
    });
  }
}

/** Writes a team whose limits were set, with the change of its budget. */
async function putLimits(
  tx: Transaction,
  { before, after }: { before: Team; after: Team },
  budget: BudgetChange | undefined,
  now: number,
): Promise<Team> {
  const team = withBudget(after, budget);
  await tx.put("teams", team);
  await followBudget(tx, { kind: "team", id: team.id, organizationIds: [team.organizationId] }, { before, after: team }, now);
  return team;
}

function limitsOf(team: Team) {
  return { models: team.models, guardrails: team.guardrails, ...rateLimitsOf(team), ...budgetOf(team) };
}

function withTeamLimits(team: Team, request: Omit<UpdateTeamRequest, "id">): Team {
  const { models, guardrails, ...rest } = withRateLimits(team, { set: request, clear: request.clear });
  const next = (name: "models" | "guardrails", before: readonly string[] | undefined) =>
    request.clear.includes(name) ? undefined : (request[name]?.names ?? before);
  return { ...rest, ...defined({ models: next("models", models), guardrails: next("guardrails", guardrails) }) };
}
