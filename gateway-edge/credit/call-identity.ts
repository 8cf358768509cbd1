import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";

/** Who called: names as they are at the time of the call, because a key may be deleted when its row is read. */
export interface CallerIdentity {
  readonly organizationId: string;
  readonly teamId: string;
  readonly teamName: string;
  readonly apiKeyId: string;
  readonly apiKeyName: string;
  readonly maskedKey: string;
  readonly userId: bigint | undefined;
}

/** Who called which model: the fields that the intent of a call, its usage row and the row of its recovery share. */
export interface CallIdentity extends CallerIdentity {
  readonly callId: string;
  readonly onceFor: string | undefined;
  readonly endpoint: string;
  readonly endUser: string | undefined;
  readonly model: string;
  readonly type: string;
  readonly stream: boolean;
}

export function callerIdentity({ organizationId, teamId, teamName, keyId, keyName, maskedKey, userId }: Caller): CallerIdentity {
  return { organizationId, teamId, teamName, apiKeyId: keyId, apiKeyName: keyName, maskedKey, userId };
}
