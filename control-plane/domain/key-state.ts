import type { ApiKey } from "./records.ts";

/** Whether a key is refused because its creator, or who rotated it, left the team or has no access. */
export function isDisabled({ disabledAt, disabledWithUserAt }: ApiKey): boolean {
  return disabledAt !== undefined || disabledWithUserAt !== undefined;
}
