import type { EdgeDeps } from "../../../deps.ts";
import { idParams, searchQuery, userIdParams } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/admin.ts";
import { teamAnswer } from "../../../schemas/platform/teams.ts";
import { disabledTotpAnswer } from "../../../schemas/platform/totp.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { budgetChange } from "../budgets.ts";
import { presentList, presentTeam, presentUser, sent } from "../present.ts";
import { limitsChange } from "../rate-limits.ts";
import { adminUserAccessOperations } from "./admin-user-access.ts";

const tag = "Admin";
const auth = "admin";

export function adminOperations(deps: EdgeDeps): Operation[] {
  return [
    listUsers(deps),
    getUser(deps),
    updateUser(deps),
    deleteUser(deps),
    resetUserTotp(deps),
    ...adminUserAccessOperations(deps),
    setTeamBlock(deps, { path: "/api/admin/teams/:id/block", blocked: true }),
    setTeamBlock(deps, { path: "/api/admin/teams/:id/unblock", blocked: false }),
  ];
}

const listUsers = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/users",
    summary: "List all users",
    tag,
    auth,
    query: searchQuery,
    status: 200,
    answer: schemas.listUsersAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      const { users, meta } = await control.identity.listUsers({ page: { page, pageSize }, search }, call.read());
      return presentList(users, meta, presentUser);
    },
  });

const getUser = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/users/:id",
    summary: "Retrieve a user",
    tag,
    auth,
    params: userIdParams,
    status: 200,
    answer: schemas.userAnswer,
    handler: async ({ params }, call) => {
      const { user } = await control.identity.getUser(params, call.read());
      return { user: presentUser(sent(user, "user")) };
    },
  });

const updateUser = ({ control }: EdgeDeps) =>
  operation({
    method: "patch",
    path: "/api/admin/users/:id",
    summary: "Update a user's name, platform role, rate limits or budget; null removes a limit",
    tag,
    auth,
    params: userIdParams,
    body: schemas.updateUserBody,
    status: 200,
    answer: schemas.userAnswer,
    handler: async ({ params, body }, call) => {
      const request = { id: params.id, name: body.name, role: body.role, limits: limitsChange(body), budget: budgetChange(body) };
      const { user } = await control.identity.updateUser(request, call.write());
      return { user: presentUser(sent(user, "user")) };
    },
  });

const deleteUser = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/admin/users/:id",
    summary: "Delete a user; the user's sessions and keys end",
    tag,
    auth,
    params: userIdParams,
    status: 200,
    answer: schemas.deletedUserAnswer,
    handler: async ({ params }, call) => {
      await control.identity.deleteUser(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

const resetUserTotp = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/admin/users/:id/totp",
    summary: "Turn a user's two-factor authentication off, for a user who lost the device and the recovery codes",
    tag,
    auth,
    params: userIdParams,
    status: 200,
    answer: disabledTotpAnswer,
    handler: async ({ params }, call) => {
      await control.identity.resetUserTotp(params, call.write());
      return { enabled: false as const };
    },
  });

const setTeamBlock = ({ control }: EdgeDeps, { path, blocked }: { path: string; blocked: boolean }) =>
  operation({
    method: "post",
    path,
    summary: blocked ? "Block a team; purchases do not lift this block" : "Unblock a team",
    tag,
    auth,
    params: idParams,
    body: schemas.blockBody,
    status: 200,
    answer: teamAnswer,
    handler: async ({ params, body }, call) => {
      const { team } = await control.teams.setTeamBlock({ id: params.id, blocked, reason: body.reason }, call.write());
      return { team: presentTeam(sent(team, "team")) };
    },
  });
