import type { EdgeDeps } from "../../../deps.ts";
import { userIdParams } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/admin.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { presentUser, sent } from "../present.ts";

const tag = "Admin";
const auth = "admin";

export function adminUserAccessOperations(deps: EdgeDeps): Operation[] {
  return [
    setUserDisabled(deps, { path: "/api/admin/users/:id/disable", disabled: true }),
    setUserDisabled(deps, { path: "/api/admin/users/:id/enable", disabled: false }),
    createPasswordReset(deps),
  ];
}

const setUserDisabled = ({ control }: EdgeDeps, { path, disabled }: { path: string; disabled: boolean }) =>
  operation({
    method: "post",
    path,
    summary: disabled
      ? "Disable a user: the sessions end, log-in and the user's keys are refused; organizations, credits and logs stay"
      : "Enable a disabled user, who logs in again; the user's keys work again",
    tag,
    auth,
    params: userIdParams,
    body: schemas.blockBody,
    status: 200,
    answer: schemas.userAccessAnswer,
    handler: async ({ params, body }, call) => {
      const { user, sessions, keys } = await control.identity.setUserDisabled(
        { id: params.id, disabled, reason: body.reason },
        call.write(),
      );
      return { user: presentUser(sent(user, "user")), sessions, keys };
    },
  });

const createPasswordReset = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/admin/users/:id/password-reset",
    summary: "Create a link that sets a new password, for one hour; it is mailed to the user, or answered where no mail is configured",
    tag,
    auth,
    params: userIdParams,
    status: 201,
    answer: schemas.passwordResetAnswer,
    handler: async ({ params }, call) => {
      const { link, expiresAt } = await control.identity.createPasswordReset(params, call.write());
      return { resetUrl: link ?? null, mailed: link === undefined, expiresAt: sent(expiresAt, "expiresAt") };
    },
  });
