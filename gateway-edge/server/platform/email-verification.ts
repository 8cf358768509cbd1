import type { EdgeDeps } from "../../deps.ts";
import * as schemas from "../../schemas/platform/auth.ts";
import { DEADLINE_MS, type Operation, operation } from "../middleware/operation.ts";
import { presentUser, sent } from "./present.ts";

const tag = "Account";

export function emailVerificationOperations(deps: EdgeDeps): Operation[] {
  return [verifyEmail(deps), sendVerificationMail(deps)];
}

const verifyEmail = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/verify-email",
    summary: "Verify the caller's email address with the token of the mailed link; the organization gets the sign-up grant then",
    tag,
    auth: "user",
    body: schemas.verifyEmailBody,
    status: 200,
    answer: schemas.verifyEmailAnswer,
    handler: async ({ body }, call) => {
      const { user } = await control.identity.verifyEmail(body, call.write());
      return { user: presentUser(sent(user, "user")) };
    },
  });

const sendVerificationMail = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/auth/verify-email/resend",
    summary: "Send the verification mail to the caller's email address again",
    tag,
    auth: "user",
    status: 202,
    answer: schemas.sendVerificationAnswer,
    handler: async (_input, call) => {
      await control.identity.sendVerificationMail({}, call.write(DEADLINE_MS.password));
      return { accepted: true as const };
    },
  });
