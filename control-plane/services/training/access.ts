import { AppError } from "../../../common/errors.ts";
import type { CallContext } from "../../../common/grpc/server.ts";
import { requireScope } from "../../../common/key-scopes.ts";
import { callerBlocked } from "../../../common/team-blocked.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { manages } from "../../domain/permissions.ts";
import type { ApiKey, Role, Team } from "../../domain/records.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import { callerOfHash } from "../access/callers.ts";
import { type Actor, requireActor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { requireTeam, visibleTeamIds } from "../teams/access.ts";

/** The principal of a training operation: a signed-in user, or an API key, which acts for its team with its creator's role there. */
export interface TrainingActor {
  /** The signed-in user, or the creator of the key; writes are audited and replayed under this user. */
  readonly person: Actor;
  readonly userId: number;
  readonly organizationId: string;
  /** Visible teams. */
  teamIds(reader: Reader): Promise<ReadonlySet<string> | "all">;
  /** The key, if it is one. */
  readonly key?: ApiKey | undefined;
  /** The role in a team; undefined: no access, and the team must look missing. */
  roleIn(reader: Reader, teamId: string): Promise<Role | undefined>;
}

const KEY = /^key-sha256 ([0-9a-f]{64})$/;

export async function requireTrainingActor(deps: ControlDeps, context: CallContext): Promise<TrainingActor> {
  const sha256 = KEY.exec(context.metadata["authorization"] ?? "")?.[1];
  const caller = sha256 === undefined ? undefined : await callerOfHash(deps, deps.secrets.keyHash(Buffer.from(sha256, "hex")));
  if (caller) {
    if (caller.status === "team_blocked") throw callerBlocked(caller);
    requireScope(caller, "train");
    const teamId = caller.teamId;
    return {
      person: await creatorOf(deps, caller),
      userId: Number(caller.userId),
      organizationId: caller.organizationId,
      key: await deps.store.get("keys", caller.keyId),
      teamIds: async () => new Set([teamId]),
      roleIn: async (_reader, asked) => (asked === teamId ? (caller.role as Role) : undefined),
    };
  }
  // `requireActor` also accepts the master key.
  const person = await requireActor(deps, context);
  return {
    person,
    userId: person.user.id,
    organizationId: person.organizationId,
    teamIds: (reader) => visibleTeamIds(reader, person),
    roleIn: async (reader, teamId) => {
      try {
        return (await requireTeam(reader, person, teamId)).role;
      } catch (thrown) {
        if (thrown instanceof AppError && thrown.code === "NOT_FOUND") return undefined;
        throw thrown;
      }
    },
  };
}

async function creatorOf({ store, clock }: ControlDeps, caller: Caller): Promise<Actor> {
  const user = await store.get("users", Number(caller.userId));
  if (!user) throw new AppError("UNAUTHORIZED", "The user who created this API key was deleted. Use another key.");
  const { organizationId } = caller;
  const now = clock.now();
  const session = { id: caller.keyId, userId: user.id, organizationId, createdAt: now, expiresAt: now };
  return { user, session, organizationId, organizationRole: "member" };
}

/** Whether the user is a platform admin. A key acts for its team only, without the other rights of its creator. */
export function isPlatformAdmin({ person }: TrainingActor): boolean {
  return person.user.role === "admin" && !person.session.id.startsWith("key_");
}

/** Requires access to the team that owns a record; without access the record is NOT_FOUND. */
export async function requireVisible<Owned extends { teamId: string; organizationId: string }>(
  reader: Reader,
  { actor, found, what }: { actor: TrainingActor; found: Owned | undefined; what: string },
): Promise<{ found: Owned; role: Role }> {
  const role = found && (await actor.roleIn(reader, found.teamId));
  if (!found || !role) throw new AppError("NOT_FOUND", `There is no such ${what}.`);
  return { found, role };
}

/** Most levels of federations in federations that are looked at. */
const DEPTH_MAX = 32;

/** A federation, stored or requested, as far as it says who is paid. */
interface Paying {
  readonly teamId: string;
  readonly budgetNanoUsd: bigint;
  readonly participants: readonly { readonly inner?: { readonly federationId: string } | undefined }[];
}

/**
 * What a federation, and those in it, pay their participants is the organization's credit, and budgets bound calls only. So only those pay whom no
 * budget bounds: the managers of the organization, who set those of teams and of the organization, and others where there is none.
 */
export async function requirePayer(reader: Reader, actor: TrainingActor, federation: Paying): Promise<void> {
  const bounded = await boundedBy(reader, actor, federation.teamId);
  if (bounded === undefined || !(await pays(reader, federation))) return;
  throw new AppError(
    "FORBIDDEN",
    `${bounded} has a budget, which does not bound what federations pay. Have an owner or admin of the organization log in and create it, or set ` +
      "budgetNanoUsd to 0, also of federations that are participants.",
  );
}

/** What has a budget that bounds this principal. */
async function boundedBy(reader: Reader, actor: TrainingActor, teamId: string): Promise<string | undefined> {
  if (isPlatformAdmin(actor)) return undefined;
  const { key, person, userId, organizationId } = actor;
  if (key?.maxBudget !== undefined) return "This API key";
  if ((await reader.get("users", userId))?.maxBudget !== undefined) return key ? "The user who created this API key" : "Your account";
  if (manages(person.organizationRole)) return undefined;
  if ((await reader.get("teams", teamId))?.maxBudget !== undefined) return "The team";
  return (await reader.get("organizations", organizationId))?.maxBudget === undefined ? undefined : "The organization";
}

/** Rounds of an outer federation run rounds of its inner ones, which pay by themselves. */
async function pays(reader: Reader, { budgetNanoUsd, participants }: Omit<Paying, "teamId">, depth = 0): Promise<boolean> {
  if (budgetNanoUsd > 0n || depth >= DEPTH_MAX) return true;
  for (const { inner } of participants) {
    const found = inner && (await reader.get("federations", inner.federationId));
    if (found && (await pays(reader, found, depth + 1))) return true;
  }
  return false;
}

export function requireManager(role: Role): void {
  if (!manages(role)) throw new AppError("FORBIDDEN", "Only an owner or admin of the team may do this.");
}

/** The team that a new record will belong to: the named team, or the first one that the principal manages. */
export async function teamForNew(reader: Reader, actor: TrainingActor, teamId: string): Promise<Team> {
  if (teamId !== "") {
    const team = await reader.get("teams", teamId);
    const role = team && (await actor.roleIn(reader, team.id));
    if (!team || !role) throw new AppError("NOT_FOUND", "There is no such team.");
    requireManager(role);
    return team;
  }
  for (const team of await collect(reader.scan("teams", { index: "byOrganization", equals: [actor.organizationId] }))) {
    if (manages(await actor.roleIn(reader, team.id))) return team;
  }
  throw new AppError("FORBIDDEN", "Only an owner or admin of a team may do this. Ask one, or use a key of a team you manage.");
}
