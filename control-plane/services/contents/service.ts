import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  type CallContent,
  Content,
  type ContentsServiceService,
  GetContentResponse,
} from "../../../proto/gen/tributary/contents/v1/contents.ts";
import { type CallContentRecord, contentExpiry, contentSettingOf } from "../../domain/call-contents.ts";
import { effectiveRole, manages } from "../../domain/permissions.ts";
import type { UsageRow } from "../../domain/records.ts";
import { perTransaction } from "../../stores/record-slots.ts";
import type { Reader } from "../../stores/store.ts";
import { type Actor, requireActor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date } from "../messages.ts";
import { requireRow } from "../usage/query.ts";
import { write } from "../write.ts";

/** Edges cut prompts and answers at 64 KB each; JSON's escapes can make them longer. */
const CONTENT_BYTES_MAX = 1024 * 1024;

/** Prompts and answers of calls: stored for edges, read by people. */
export function contentsHandlers(deps: ControlDeps): ServiceHandlers<typeof ContentsServiceService> {
  return {
    async storeContents({ contents }) {
      const found = await Promise.all(contents.map((content) => recordOf(deps, content)));
      const records = found.filter((record) => record !== undefined);
      for (const batch of perTransaction(deps.store, "callContents", records)) {
        await deps.store.transaction([], async (tx) => {
          for (const record of batch) await tx.put("callContents", record);
        });
      }
      return { stored: records.length, refused: contents.length - records.length };
    },

    async getContent({ callId }, context) {
      const actor = await requireActor(deps, context);
      const row = await requireRow(deps, actor, callId);
      await requireReader(deps.store, actor, row);
      const record = await deps.store.get("callContents", callId);
      if (!record || record.organizationId !== row.organizationId || record.expiresAt <= deps.clock.now()) throw await missing(deps, row);
      // The line is written before the content is returned, so that no read is without one.
      return write(deps, context, { actor, codec: GetContentResponse, scopes: [] }, async ({ audit }) => {
        await audit({ action: "content.read", target: callId, organizationId: row.organizationId, details: { apiKeyId: row.apiKeyId } });
        const content = Content.decode(deps.secrets.open(record.sealedContent));
        return { content, createdAt: date(record.createdAt), expiresAt: date(record.expiresAt) };
      });
    },
  };
}

/** The record of a content; undefined if it is not wanted any more, since the edge may not have received the last change yet. */
async function recordOf(deps: ControlDeps, given: CallContent): Promise<CallContentRecord | undefined> {
  const { callId, organizationId, keyId, createdAt, content } = given;
  const [organization, key] = await Promise.all([deps.store.get("organizations", organizationId), deps.store.get("keys", keyId)]);
  const { isStored, days } = contentSettingOf(organization, key);
  if (!content || !createdAt || !isStored || (key && key.organizationId !== organizationId)) return undefined;
  const bytes = Content.encode(content).finish();
  if (bytes.length > CONTENT_BYTES_MAX) return undefined;
  const now = createdAt.getTime();
  const expiresAt = contentExpiry(now, retentionOf(deps, days).days);
  return { id: callId, organizationId, createdAt: now, expiresAt, sealedContent: deps.secrets.seal(bytes) };
}

/** How long contents are kept, and which setting says so. Who may read a content is decided by the row of its call, so it is kept no longer than rows. */
function retentionOf({ config: { usageKeptDays } }: Pick<ControlDeps, "config">, days: number): { setting: string; days: number } {
  const isShorter = usageKeptDays !== undefined && usageKeptDays < days;
  return isShorter ? { setting: "USAGE_KEPT_DAYS", days: usageKeptDays } : { setting: "logContentDays", days };
}

/** Owners and admins of the organization or the team read all contents; other members read those of the keys that they created. */
async function requireReader(reader: Reader, actor: Actor, row: UsageRow): Promise<void> {
  const member = await reader.get("teamMembers", `${row.teamId}/${actor.user.id}`);
  const role = effectiveRole({ organization: actor.organizationRole, team: member?.role });
  if (manages(role) || row.userId === actor.user.id) return;
  throw new AppError("FORBIDDEN", "Only owners and admins, and the creator of the key, may read the prompt and the answer of a call.");
}

async function missing(deps: ControlDeps, { organizationId, apiKeyId, createdAt }: UsageRow): Promise<AppError> {
  const [organization, key] = await Promise.all([deps.store.get("organizations", organizationId), deps.store.get("keys", apiKeyId)]);
  const { isStored, days } = contentSettingOf(organization, key);
  const kept = retentionOf(deps, days);
  const why = () => {
    if (!isStored) return "logContent is off for its organization and its key.";
    if (contentExpiry(createdAt, kept.days) <= deps.clock.now()) return `They were removed after ${kept.setting}, which is ${kept.days}.`;
    return "The call was made before logContent was on, its operation has none, they are on their way, or they were dropped under load.";
  };
  return new AppError("NOT_FOUND", `No prompt and answer of this call are stored. ${why()}`);
}
