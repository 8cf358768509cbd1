import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { DeleteTeamResponse, type TeamsServiceService } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { budgetName } from "../../domain/budgets.ts";
import { manages } from "../../domain/permissions.ts";
import type { Team } from "../../domain/records.ts";
import { collect } from "../../stores/page.ts";
import { type Scope, storageScope, teamRecordsScope } from "../../stores/scopes.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { appendChange } from "../../writes/feed.ts";
import { deleteKey } from "../../writes/keys.ts";
import { removeTeamRecords } from "../../writes/team-records.ts";
import { type Actor, requireActor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { leaveOrganization } from "../organizations/members.ts";
import { removeContents } from "../records/content.ts";
import { write } from "../write.ts";
import { requireTeam, teamScopes } from "./access.ts";

type Handlers = ServiceHandlers<typeof TeamsServiceService>;

/**
 * Deletes a team with its keys, members, invitations, stored objects, and the alerts and MCP servers that are for it alone. Its calls stay in
 * the logs and the ledger. What could neither stay nor go is refused, and nothing changes.
 */
export const deleteTeam =
  (deps: ControlDeps): Handlers["deleteTeam"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    let contents: readonly string[] = [];
    const response = await write(
      deps,
      context,
      { actor, codec: DeleteTeamResponse, scopes: await scopesOf(deps, request.id) },
      async ({ tx, now, audit }) => {
        const team = await requireDeletable(tx, actor, request.id);
        contents = await removeTeamRecords(tx, team.id, now);
        const keys = await collect(tx.scan("keys", { index: "byTeam", equals: [team.id] }));
        for (const key of keys) await deleteKey(tx, key, now);
        await removeMembers(tx, team);
        await removeSettings(tx, team);
        await tx.remove("budgetUses", budgetName("team", team.id));
        await tx.remove("teams", team.id);
        await appendChange(tx, { kind: "team", subject: team.id }, now);
        const revokedKeys = keys.map(({ id }) => id);
        await audit({
          action: "team.delete",
          target: team.id,
          organizationId: team.organizationId,
          details: { name: team.name, revokedKeys, storedFiles: contents.length },
        });
        return { revokedKeys };
      },
    );
    await removeContents(deps, contents).catch((error: unknown) => {
      deps.logger.warn({ error: String(error) }, "files of a deleted team could not be removed; a job retries");
    });
    return response;
  };

async function scopesOf({ store }: ControlDeps, teamId: string): Promise<readonly Scope[]> {
  const team = await store.get("teams", teamId);
  const storage = team ? [storageScope(team.organizationId)] : [];
  return ["identity", ...(await teamScopes(store, teamId)), teamRecordsScope(teamId), ...storage];
}

async function requireDeletable(tx: Transaction, actor: Actor, id: string): Promise<Team> {
  const { team, role } = await requireTeam(tx, actor, id);
  const membership = await tx.get("organizationMembers", `${team.organizationId}/${actor.user.id}`);
  if (role !== "owner" && !manages(membership?.role)) {
    throw new AppError("FORBIDDEN", "Only an owner of the team, or an owner or admin of the organization, may delete it.");
  }
  if ((await tx.count("teams", { index: "byOrganization", equals: [team.organizationId] })) === 1) {
    throw new AppError("VALIDATION_ERROR", "An organization has at least one team. Create another team first.");
  }
  await refuseTraining(tx, team);
  return team;
}

/** The rounds of a federation stay verifiable, and only members of its team can read them. */
async function refuseTraining(reader: Reader, { id, organizationId }: Team): Promise<void> {
  const range = { index: "byOrganization", equals: [organizationId] } as const;
  const federations = (await collect(reader.scan("federations", range))).filter(({ teamId }) => teamId === id);
  const [federation] = federations;
  if (federation) {
    throw new AppError(
      "VALIDATION_ERROR",
      `The team has ${federations.length} federations, such as "${federation.name}", whose rounds and rewards only its members can read. Remove its keys and members instead.`,
    );
  }
  const nodes = await collect(reader.scan("trainerNodes", { index: "byTeamAndUrl", equals: [id] }));
  if (nodes.length > 0) {
    throw new AppError("VALIDATION_ERROR", `The team has ${nodes.length} trainer nodes. Remove them first (DELETE /training/nodes/{id}).`);
  }
}

async function removeMembers(tx: Transaction, { id, organizationId }: Team): Promise<void> {
  const members = await collect(tx.scan("teamMembers", { index: "byTeam", equals: [id] }));
  for (const member of members) await tx.remove("teamMembers", member.id);
  for (const { userId } of members) await leaveOrganization(tx, organizationId, userId);
  for (const invitation of await collect(tx.scan("invitations", { index: "byTeamAndEmail", equals: [id] }))) {
    await tx.remove("invitations", invitation.id);
  }
}

async function removeSettings(tx: Transaction, { id, organizationId }: Team): Promise<void> {
  for (const alert of await collect(tx.scan("alerts", { index: "byOrganization", equals: [organizationId] }))) {
    if (alert.teamId === id) await tx.remove("alerts", alert.id);
  }
  for (const server of await collect(tx.scan("mcpServers", { index: "byName", equals: [organizationId] }))) {
    if (server.teamId === id) await tx.remove("mcpServers", server.id);
  }
}
