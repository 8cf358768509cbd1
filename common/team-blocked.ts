import { AppError } from "./errors.ts";

/** The error for a blocked team, the same in every process, with the reason if it is known. */
export function teamBlocked({ teamName, reason }: { teamName?: string; reason?: "quota" | "admin" } = {}): AppError {
  const team = teamName === undefined ? "The team" : `The team ${teamName}`;
  return new AppError("TEAM_BLOCKED", `${team} is blocked${reason === undefined ? WAYS_OUT.unknown : WAYS_OUT[reason]}`);
}

/** The same error from the fields of a caller. */
export function callerBlocked({ teamName, blockedReason }: { teamName: string; blockedReason?: string | undefined }): AppError {
  const isKnown = blockedReason === "quota" || blockedReason === "admin";
  return teamBlocked(isKnown ? { teamName, reason: blockedReason } : { teamName });
}

const WAYS_OUT = {
  quota: ": the organization's balance is below zero. Buy credits to continue.",
  admin: " by an administrator. Ask one to unblock it.",
  unknown: ". Buy credits, or ask an admin to unblock it.",
} as const;
