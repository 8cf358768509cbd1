import type { EdgeDeps } from "../../deps.ts";
import * as schemas from "../../schemas/platform/auth.ts";
import { sessionAnswer } from "../../schemas/records.ts";
import { DEADLINE_MS, type Operation, operation } from "../middleware/operation.ts";
import { presentOrganization, presentTeam, presentUser, sent } from "./present.ts";

const tag = "Account";

export function authOperations(deps: EdgeDeps): Operation[] {
  return [
    signUp(deps, "/api/auth/signup"),
    signUp(deps, "/api/auth/register"),
    createToken(deps),
    refreshToken(deps),
    getMe(deps),
    logout(deps),
    changePassword(deps),
    requestPasswordReset(deps),
    resetPassword(deps),
    listOidcProviders(deps),
  ];
}

const signUp = ({ control }: EdgeDeps, path: string) =>
  operation({
    method: "post",
    path,
    summary: "Sign up: creates the user, an organization and its first team; with `inviteToken` the user also joins the inviting team",
    tag,
    auth: "none",
    body: schemas.signUpBody,
    status: 201,
    answer: schemas.signUpAnswer,
    handler: async ({ body }, call) => {
      const made = await control.identity.signUp(body, call.write(DEADLINE_MS.password));
      return {
        user: presentUser(sent(made.user, "user")),
        organization: presentOrganization(sent(made.organization, "organization")),
        team: presentTeam(sent(made.team, "team")),
        token: made.token,
        expiresAt: sent(made.expiresAt, "expiresAt"),
      };
    },
  });

const createToken = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/token",
    summary:
      "Log in with email and password; returns a token. With two-factor authentication the answer is a 401 with `otp` in `details` until `otp` is sent",
    tag,
    auth: "none",
    body: schemas.createTokenBody,
    status: 200,
    answer: sessionAnswer,
    handler: async ({ body }, call) => presentSession(await control.identity.createToken(body, call.write(DEADLINE_MS.password))),
  });

const refreshToken = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/token/refresh",
    summary: "Refresh the token of the session; the token before it ends, and if it is used again the session ends",
    tag,
    auth: "user",
    status: 200,
    answer: sessionAnswer,
    handler: async (_input, call) => presentSession(await control.identity.refreshToken({}, call.write(DEADLINE_MS.password))),
  });

const getMe = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/auth/me",
    summary: "The logged-in user and the active organization",
    tag,
    auth: "user",
    status: 200,
    answer: schemas.meAnswer,
    handler: async (_input, call) => {
      const { user, organization, canVerifyEmail } = await control.identity.getMe({}, call.read());
      return {
        user: presentUser(sent(user, "user")),
        organization: organization ? presentOrganization(organization) : null,
        canVerifyEmail,
      };
    },
  });

const logout = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/logout",
    summary: "End the session",
    tag,
    auth: "user",
    status: 200,
    answer: schemas.logoutAnswer,
    handler: async (_input, call) => {
      await control.identity.logout({}, call.write());
      return { loggedOut: true as const };
    },
  });

const changePassword = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/password",
    summary: "Change the password; every other session ends",
    tag,
    auth: "user",
    body: schemas.changePasswordBody,
    status: 200,
    answer: sessionAnswer,
    handler: async ({ body }, call) => presentSession(await control.identity.changePassword(body, call.write(DEADLINE_MS.password))),
  });

const requestPasswordReset = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/password/reset-request",
    summary: "Request an email with a reset token; the response is the same for unknown addresses",
    tag,
    auth: "none",
    body: schemas.requestResetBody,
    status: 202,
    answer: schemas.requestResetAnswer,
    handler: async ({ body }, call) => {
      await control.identity.requestPasswordReset(body, call.write(DEADLINE_MS.password));
      return { accepted: true as const };
    },
  });

const resetPassword = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/password/reset",
    summary: "Set a new password with a reset token",
    tag,
    auth: "none",
    body: schemas.resetPasswordBody,
    status: 200,
    answer: schemas.resetPasswordAnswer,
    handler: async ({ body }, call) => {
      const request = { resetToken: body.token, newPassword: body.newPassword };
      await control.identity.resetPassword(request, call.write(DEADLINE_MS.password));
      return { reset: true as const };
    },
  });

const listOidcProviders = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/auth/oidc",
    summary: "List the sign-in providers (OpenID Connect); a browser signs in at /api/auth/oidc/{id}",
    tag,
    auth: "none",
    status: 200,
    answer: schemas.listOidcAnswer,
    handler: async (_input, call) => ({ data: (await control.identity.listOidcProviders({}, call.read())).providers }),
  });

function presentSession({ token, expiresAt }: { token: string; expiresAt: Date | undefined }) {
  return { token, expiresAt: sent(expiresAt, "expiresAt") };
}
