import { AppError } from "../../common/errors.ts";
import { type Peer, peerUri } from "../../common/peers/peer.ts";
import type { ControlDeps } from "../services/deps.ts";
import { writeAudit } from "../writes/audit.ts";

/** A process that tries again all the time leaves one entry a minute for each method. */
const AUDIT_EVERY_MS = 60_000;
const REMEMBERED_MAX = 1000;

export type RefuseCall = (peer: Peer, refused: { path: string; target: string; reason: string }) => Promise<AppError>;

/** Refuses calls that a peer must not make, and writes them to the audit log: a peer with our certificate does so only if it is not itself. */
export function createRefusals({ store, clock, logger }: Pick<ControlDeps, "store" | "clock" | "logger">): RefuseCall {
  const auditedAt = new Map<string, number>();
  return async (peer, { path, target, reason }) => {
    const error = new AppError("FORBIDDEN", reason);
    const now = clock.now();
    const key = `${peerUri(peer)} ${path}`;
    if (now - (auditedAt.get(key) ?? 0) < AUDIT_EVERY_MS) return error;
    if (auditedAt.size >= REMEMBERED_MAX) auditedAt.clear();
    auditedAt.set(key, now);
    const details = { peer: peerUri(peer), method: path, reason };
    logger.warn({ ...details, target }, "a call of another process was refused");
    try {
      await store.transaction("audit", (tx) =>
        writeAudit(tx, { actorKind: "system", action: "peer.refused", target, requestId: "", details }, now),
      );
    } catch (thrown) {
      logger.error({ ...details, error: String(thrown) }, "a refused call could not be written to the audit log");
    }
    return error;
  };
}
