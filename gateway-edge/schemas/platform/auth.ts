import { z } from "zod";
import { email, givenPassword, inviteToken, loginEmail, name, newPassword, otp } from "../fields.ts";
import { listOf, openSessionRecord, organizationRecord, sessionAnswer, teamRecord, userRecord } from "../records.ts";

export const signUpBody = z.object({
  email,
  password: newPassword,
  name: name.optional(),
  organizationName: name.optional(),
  /** The token of an invitation to this address; the account joins its team. */
  inviteToken: inviteToken.optional(),
});
export const signUpAnswer = sessionAnswer.extend({ user: userRecord, organization: organizationRecord, team: teamRecord });

/** `otp` is needed for an account with two-factor authentication. */
export const createTokenBody = z.object({ email: loginEmail, password: givenPassword, otp: otp.optional() });
export const meAnswer = z.object({
  user: userRecord,
  organization: organizationRecord.nullable(),
  /** The address is not verified, and a verification mail can be sent. */
  canVerifyEmail: z.boolean(),
});
export const logoutAnswer = z.object({ loggedOut: z.literal(true) });

export const listSessionsAnswer = listOf(openSessionRecord);
export const endedSessionsAnswer = z.object({ ended: z.int() });

export const changePasswordBody = z.object({ currentPassword: givenPassword, newPassword });
export const requestResetBody = z.object({ email: loginEmail });
export const requestResetAnswer = z.object({ accepted: z.literal(true) });
export const resetPasswordBody = z.object({ token: z.string().min(1).max(512), newPassword });
export const resetPasswordAnswer = z.object({ reset: z.literal(true) });

export const verifyEmailBody = z.object({ token: z.string().min(1).max(512) });
export const verifyEmailAnswer = z.object({ user: userRecord });
export const oidcParams = z.object({ provider: z.string().max(64) });
/** `next` is a path of the console. */
export const oidcStartQuery = z.object({
  next: z
    .string()
    .max(1024)
    .regex(/^\/(?![/\\])[\x21-\x7e]*$/, "must be a path of the console such as /teams")
    .optional(),
});
export const listOidcAnswer = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })) });

export const sendVerificationAnswer = z.object({ accepted: z.literal(true) });
