import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";

/** Who called, as rows and the journal say it: names as they were then, for a key may be gone when somebody reads them. */
export function callerFields({ organizationId, teamId, teamName, keyId, keyName, maskedKey, userId }: Caller) {
  return { organizationId, teamId, teamName, apiKeyId: keyId, apiKeyName: keyName, maskedKey, userId };
}
