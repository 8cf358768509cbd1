import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { DeleteUserResponse, type IdentityServiceService, UpdateUserResponse } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import { budgetName, budgetOf, withBudget } from "../../domain/budgets.ts";
import { rateLimitsOf, withRateLimits } from "../../domain/rate-limits.ts";
import type { User } from "../../domain/records.ts";
import { collect, readPage } from "../../stores/page.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { endSessions } from "../../writes/accounts.ts";
import { followBudget } from "../../writes/budgets.ts";
import { appendChange } from "../../writes/feed.ts";
import { withdrawInvitationsBy } from "../../writes/invitations.ts";
import { deleteKey, disableKey, keysKnownTo } from "../../writes/keys.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf, userWithBudget } from "../messages.ts";
import { write } from "../write.ts";

type UsersHandlers = Pick<ServiceHandlers<typeof IdentityServiceService>, "listUsers" | "getUser" | "updateUser" | "deleteUser">;

/** Handlers for platform admins: all users. */
export function usersHandlers(deps: ControlDeps): UsersHandlers {
  return {
    async listUsers(request, context) {
      await requireAdmin(deps, context);
      const page = pageOf(request.page);
      const search = request.search?.toLowerCase();
      const { records, total } = await readPage(deps.store, "users", {
        ...page,
        ...(search ? { where: (user: User) => user.email.includes(search) || user.name.toLowerCase().includes(search) } : {}),
      });
      const now = deps.clock.now();
      return { users: await Promise.all(records.map((user) => userWithBudget(deps.store, user, now))), meta: metaOf(page, total) };
    },

    async getUser(request, context) {
      await requireAdmin(deps, context);
      return { user: await userWithBudget(deps.store, await requireUser(deps.store, request.id), deps.clock.now()) };
    },

    async updateUser(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: UpdateUserResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
        const user = await requireUser(tx, request.id);
        const role = request.role === "admin" || request.role === "user" ? request.role : user.role;
        if (isActiveAdmin(user) && role !== "admin") await refuseLastAdmin(tx);
        const updated = withBudget(withRateLimits({ ...user, role, name: request.name ?? user.name }, request.limits), request.budget);
        await tx.put("users", updated);
        await followUserBudget(tx, { before: user, after: updated }, now);
        await appendChange(tx, { kind: "user", subject: String(user.id) }, now);
        await audit({
          action: "user.update",
          target: String(user.id),
          organizationId: user.organizationId,
          details: { role, name: updated.name, ...rateLimitsOf(updated), ...budgetOf(updated) },
        });
        return { user: await userWithBudget(tx, updated, now) };
      });
    },

    async deleteUser(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: DeleteUserResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
        const user = await requireUser(tx, request.id);
        if (isActiveAdmin(user)) await refuseLastAdmin(tx);
        await endSessions(tx, user.id, now);
        await endKeysOf(tx, user.id, now);
        for (const { id, teamId } of await collect(tx.scan("teamMembers", { index: "byUser", equals: [user.id] }))) {
          await tx.remove("teamMembers", id);
          await withdrawInvitationsBy(tx, { teamId, userId: user.id });
        }
        const memberships = await collect(tx.scan("organizationMembers", { index: "byUser", equals: [user.id] }));
        for (const member of memberships) await tx.remove("organizationMembers", member.id);
        for (const { id } of await collect(tx.scan("identities", { index: "byUser", equals: [user.id] })))
          await tx.remove("identities", id);
        // The organization and its ledger stay: money is never deleted with a user.
        await tx.remove("users", user.id);
        await tx.remove("secondFactors", user.id);
        await tx.remove("budgetUses", budgetName("user", user.id));
        await appendChange(tx, { kind: "user", subject: String(user.id) }, now);
        await audit({ action: "user.delete", target: String(user.id), organizationId: user.organizationId });
        return {};
      });
    },
  };
}

const isActiveAdmin = ({ role, disabledAt }: User): boolean => role === "admin" && disabledAt === undefined;

async function followUserBudget(tx: Transaction, { before, after }: { before: User; after: User }, now: number): Promise<void> {
  const memberships = await collect(tx.scan("organizationMembers", { index: "byUser", equals: [after.id] }));
  const organizationIds = memberships.map(({ organizationId }) => organizationId);
  await followBudget(tx, { kind: "user", id: after.id, organizationIds }, { before, after }, now);
}

/** Keys that the user created end with the account. Those of others are disabled until they are rotated again: the user may know the secret. */
async function endKeysOf(tx: Transaction, userId: number, now: number): Promise<void> {
  for (const key of await keysKnownTo(tx, userId)) {
    if (key.createdBy === userId) await deleteKey(tx, key, now);
    else await disableKey(tx, key, now);
  }
}

export async function requireUser(reader: Reader, id: bigint): Promise<User> {
  const user = id > 0n && id <= BigInt(Number.MAX_SAFE_INTEGER) ? await reader.get("users", Number(id)) : undefined;
  if (!user) throw new AppError("NOT_FOUND", "There is no such user.");
  return user;
}

/** Refuses to take the role or the access of the only administrator who has both. */
export async function refuseLastAdmin(tx: Transaction): Promise<void> {
  let admins = 0;
  for await (const user of tx.scan("users")) if (user.role === "admin" && user.disabledAt === undefined) admins++;
  if (admins <= 1)
    throw new AppError("VALIDATION_ERROR", "This is the last platform administrator. Give another user the role admin first.");
}
