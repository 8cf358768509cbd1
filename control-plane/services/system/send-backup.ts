import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServerStream } from "../../../common/grpc/server.ts";
import type { BackupResponse } from "../../../proto/gen/tributary/system/v1/system.ts";
import { writeAudit } from "../../writes/audit.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";

/** Sends a backup to an administrator. It has the records of all tenants, so it is in the audit log before its first byte leaves. */
export async function sendBackup(deps: ControlDeps, stream: ServerStream<BackupResponse>): Promise<void> {
  try {
    const { metadata, signal } = stream;
    const { user } = await requireAdmin(deps, { metadata, signal, setHeader: () => {} });
    deps.backups.check();
    await noteBackup(deps, { actorId: user.id, metadata });
    for await (const chunk of deps.backups.archive()) {
      if (signal.aborted) return;
      if (!stream.write({ chunk: Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) })) await stream.drained();
    }
    stream.end();
  } catch (thrown) {
    if (!(thrown instanceof AppError)) deps.logger.error({ error: String(thrown) }, "a backup failed");
    stream.fail(thrown);
  }
}

function noteBackup(
  { store, clock }: ControlDeps,
  { actorId, metadata }: Pick<CallContext, "metadata"> & { actorId: number },
): Promise<void> {
  const line = {
    actorId,
    actorKind: "user",
    action: "backup.create",
    target: "platform",
    requestId: metadata["x-request-id"] ?? "",
  } as const;
  return store.transaction("audit", (tx) => writeAudit(tx, line, clock.now()));
}
