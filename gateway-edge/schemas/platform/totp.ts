import { z } from "zod";
import { givenPassword, otp } from "../fields.ts";

export const totpAnswer = z.object({ enabled: z.boolean(), recoveryCodesLeft: z.int() });
export const setUpTotpBody = z.object({ password: givenPassword });
/** `secret` is Base32, for authenticator apps that cannot read `otpauthUrl` from a QR code. */
export const setUpTotpAnswer = z.object({ secret: z.string(), otpauthUrl: z.string() });
export const otpBody = z.object({ otp });
export const recoveryCodesAnswer = z.object({ recoveryCodes: z.array(z.string()) });
export const disableTotpBody = z.object({ otp, password: givenPassword.optional() });
export const disabledTotpAnswer = z.object({ enabled: z.literal(false) });
