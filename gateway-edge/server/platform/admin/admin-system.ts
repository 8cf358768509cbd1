import { z } from "zod";
import type { BackupResponse, Edge, JournalFigures, Trainer } from "../../../../proto/gen/tributary/system/v1/system.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { type SystemEdge, type SystemTrainer, systemAnswer } from "../../../schemas/platform/system.ts";
import { ContentStream } from "../../middleware/content-stream.ts";
import { DEADLINE_MS, type Operation, operation } from "../../middleware/operation.ts";
import { money, sent } from "../present.ts";

/** For operators. The master key is accepted too, so that scripts need no password. */
export function adminSystemOperations(deps: EdgeDeps): Operation[] {
  return [getSystem(deps), backup(deps)];
}

const getSystem = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/system",
    summary: "State of the processes: versions, edges with leases and journals, queues of the control plane, trainer nodes",
    tag: "Admin",
    auth: "admin",
    status: 200,
    answer: systemAnswer,
    handler: async (_input, call) => {
      const { controlPlane, edges, trainers } = await control.system.getSystem({}, call.read());
      const { version, startedAt, store, queues } = sent(controlPlane, "controlPlane");
      return {
        version,
        startedAt: sent(startedAt, "startedAt"),
        controlPlane: { store: store === "mongodb" ? ("mongodb" as const) : ("embedded" as const), queues: sent(queues, "queues") },
        edges: edges.map(presentEdge),
        trainers: trainers.map(presentTrainer),
      };
    },
  });

/** A POST, because it is in the audit log, and no page of another origin may start it. */
const backup = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/admin/backup",
    summary: "Back up the embedded store while it runs: one archive with the records of all organizations and the generated root secret",
    tag: "Admin",
    auth: "admin",
    status: 200,
    answer: z.string(),
    otherResponses: { 200: { description: "The archive (tar, gzip).", contentType: "application/gzip", schema: z.string() } },
    handler: async (_input, call) => {
      const parts = chunksOf(control.system.backup({}, call.read(DEADLINE_MS.backup)));
      return new ContentStream({ contentType: "application/gzip", fileName: "tributary-backup.tar.gz", parts });
    },
  });

async function* chunksOf(messages: AsyncIterable<BackupResponse>): AsyncGenerator<Uint8Array> {
  for await (const { chunk } of messages) yield chunk;
}

function presentEdge({ id, report, seenAt, leases, leaseCount }: Edge): SystemEdge {
  return {
    id,
    status: report ? (report.isReady ? "ready" : "not ready") : "silent",
    version: report?.version ?? null,
    startedAt: report?.startedAt ?? null,
    seenAt: seenAt ?? null,
    trouble: report?.trouble ?? null,
    inFlight: report?.inFlight ?? null,
    leases: leases.map(({ organizationId, granted, settled, released, expiresAt }) => ({
      organizationId,
      ...money("granted", granted),
      ...money("settled", settled),
      ...money("released", released),
      expiresAt: sent(expiresAt, "expiresAt"),
    })),
    leaseCount,
    journal: report?.journal ? presentJournal(report.journal) : null,
  };
}

function presentJournal({ bytes, records, unshipped, oldestUnshippedAt }: JournalFigures): NonNullable<SystemEdge["journal"]> {
  return { bytes, records, unshipped, oldestUnshippedAt: oldestUnshippedAt ?? null };
}

function presentTrainer({ id, name, url, organizationId, status, seenAt, lastError, updates, failures }: Trainer): SystemTrainer {
  return { id, name, url, organizationId, status, seenAt: seenAt ?? null, lastError: lastError ?? null, updates, failures };
}
