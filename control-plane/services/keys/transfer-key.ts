import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { type KeysServiceService, TransferKeyResponse } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import { effectiveRole } from "../../domain/permissions.ts";
import type { ApiKey, Team } from "../../domain/records.ts";
import type { Reader } from "../../stores/store.ts";
import { appendChange } from "../../writes/feed.ts";
import { refuseOpenWork } from "../../writes/team-records.ts";
import { requireActor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { keyMessage } from "../messages.ts";
import { requireTeam } from "../teams/access.ts";
import { write } from "../write.ts";
import { requireKey, requireRoomForKey } from "./find-key.ts";

type Handlers = ServiceHandlers<typeof KeysServiceService>;

/**
 * Moves a key to another team of its organization. Its secret, limits, budget and spend stay; the limits of the new team apply. Refused while
 * background work is not finished: it is billed to the key, and belongs to the team.
 */
export const transferKey =
  (deps: ControlDeps): Handlers["transferKey"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: TransferKeyResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const key = await requireKey(deps, tx, actor, request.reference);
      const { team } = await requireTeam(tx, actor, request.teamId);
      if (team.id === key.teamId) return { apiKey: await keyMessage(tx, key, now) };
      refuseOtherOrganization(key, team);
      for (const holder of holdersOf(key)) await refuseAbsent(tx, holder, team);
      await requireRoomForKey(tx, team.id);
      await refuseOpenWork(tx, key);
      const moved: ApiKey = { ...key, teamId: team.id };
      await tx.put("keys", moved);
      await appendChange(tx, { kind: "key", subject: key.id }, now);
      await audit({
        action: "key.transfer",
        target: key.id,
        organizationId: key.organizationId,
        details: { from: key.teamId, to: team.id },
      });
      return { apiKey: await keyMessage(tx, moved, now) };
    });
  };

function refuseOtherOrganization(key: ApiKey, team: Team): void {
  if (key.organizationId === team.organizationId) return;
  throw new AppError(
    "VALIDATION_ERROR",
    "A key moves only between teams of one organization, because its credits and logs belong to that. Create a key in the other organization.",
  );
}

/** Who may know the secret: the key of a user who is not in a team would not be disabled when the user leaves it. */
async function refuseAbsent(reader: Reader, { userId, who, remedy }: KeyHolder, team: Team): Promise<void> {
  const [organization, member] = await Promise.all([
    reader.get("organizationMembers", `${team.organizationId}/${userId}`),
    reader.get("teamMembers", `${team.id}/${userId}`),
  ]);
  if (effectiveRole({ organization: organization?.role, team: member?.role })) return;
  throw new AppError("VALIDATION_ERROR", `The ${who} of the key is not in the team ${team.name}. ${remedy}`);
}

interface KeyHolder {
  readonly userId: number;
  readonly who: string;
  readonly remedy: string;
}

function holdersOf({ createdBy, rotatedBy }: ApiKey): KeyHolder[] {
  const creator = { userId: createdBy, who: "creator", remedy: "Add the creator to the team first, or create a new key there." };
  if (rotatedBy === undefined || rotatedBy === createdBy) return [creator];
  return [creator, { userId: rotatedBy, who: "last user who rotated the secret", remedy: "Rotate the key yourself first." }];
}
