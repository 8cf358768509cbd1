import type { Random } from "../../common/random.ts";

/** The second factor of a user. It is asked for at log-in once the first code has confirmed it. */
export type SecondFactor = SecondFactorBase & (PendingFactor | ActiveFactor);

interface SecondFactorBase {
  /** The user's id. */
  id: number;
  /** The TOTP secret in Base32, sealed. */
  sealedSecret: string;
  createdAt: number;
}

interface PendingFactor {
  state: "pending";
}

interface ActiveFactor {
  state: "active";
  enabledAt: number;
  /** The time step of the last accepted code: neither it nor an older one is accepted again. */
  lastStep: number;
  /** Keyed hashes of the recovery codes that are left. */
  recoveryHashes: readonly string[];
}

export type ActiveSecondFactor = SecondFactorBase & ActiveFactor;

export const RECOVERY_CODES = 10;
/** 32 characters without 0, 1, i and o, which people confuse: five bits each. */
const RECOVERY_ALPHABET = "23456789abcdefghjklmnpqrstuvwxyz";
const RECOVERY_LENGTH = 10;

/** Whether a text is a TOTP code rather than a recovery code. */
export function isTotpCode(otp: string): boolean {
  return /^\d{6}$/.test(compactCode(otp));
}

/** Codes for users who lose their device, 50 random bits each. */
export function newRecoveryCodes(random: Random): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const characters = [...random.bytes(RECOVERY_LENGTH)].map((byte) => RECOVERY_ALPHABET[byte % RECOVERY_ALPHABET.length]).join("");
    return `${characters.slice(0, RECOVERY_LENGTH / 2)}-${characters.slice(RECOVERY_LENGTH / 2)}`;
  });
}

/** What is hashed of a recovery code: without the user, equal codes of two users would have equal hashes. */
export function recoveryText(userId: number, otp: string): string {
  return `recovery-code ${userId} ${compactCode(otp).toLowerCase()}`;
}

/** Apps show codes in groups, and people type them so. */
export function compactCode(otp: string): string {
  return otp.replace(/[\s-]/g, "");
}
