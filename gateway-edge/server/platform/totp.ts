import type { EdgeDeps } from "../../deps.ts";
import * as schemas from "../../schemas/platform/totp.ts";
import { DEADLINE_MS, type Operation, operation } from "../middleware/operation.ts";

const tag = "Account";
const path = "/api/auth/totp";

export function totpOperations(deps: EdgeDeps): Operation[] {
  return [getTotp(deps), setUpTotp(deps), confirmTotp(deps), renewRecoveryCodes(deps), disableTotp(deps)];
}

const getTotp = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path,
    summary: "Whether two-factor authentication is on for the caller, and how many recovery codes are left",
    tag,
    auth: "user",
    status: 200,
    answer: schemas.totpAnswer,
    handler: async (_input, call) => {
      const { enabled, recoveryCodesLeft } = await control.identity.getTotp({}, call.read());
      return { enabled, recoveryCodesLeft };
    },
  });

const setUpTotp = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path,
    summary: "Set up two-factor authentication (TOTP); it is on once the first code confirms it",
    tag,
    auth: "user",
    body: schemas.setUpTotpBody,
    status: 201,
    answer: schemas.setUpTotpAnswer,
    handler: async ({ body }, call) => {
      const { secret, otpauthUrl } = await control.identity.setUpTotp(body, call.write(DEADLINE_MS.password));
      return { secret, otpauthUrl };
    },
  });

const confirmTotp = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: `${path}/confirm`,
    summary: "Turn two-factor authentication on with a first code; returns the recovery codes once, and every other session ends",
    tag,
    auth: "user",
    body: schemas.otpBody,
    status: 200,
    answer: schemas.recoveryCodesAnswer,
    handler: async ({ body }, call) => {
      const { recoveryCodes } = await control.identity.confirmTotp(body, call.write());
      return { recoveryCodes };
    },
  });

const renewRecoveryCodes = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: `${path}/recovery-codes`,
    summary: "Replace all recovery codes, with a code of the authenticator app; returns the new ones once",
    tag,
    auth: "user",
    body: schemas.otpBody,
    status: 200,
    answer: schemas.recoveryCodesAnswer,
    handler: async ({ body }, call) => {
      const { recoveryCodes } = await control.identity.renewRecoveryCodes(body, call.write());
      return { recoveryCodes };
    },
  });

const disableTotp = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path,
    summary: "Turn two-factor authentication off, with a code of the authenticator app, or with a recovery code and the password",
    tag,
    auth: "user",
    body: schemas.disableTotpBody,
    status: 200,
    answer: schemas.disabledTotpAnswer,
    handler: async ({ body }, call) => {
      await control.identity.disableTotp(body, call.write(DEADLINE_MS.password));
      return { enabled: false as const };
    },
  });
