import { z } from "zod";
import { money } from "../records.ts";

// The state of the platform's processes, as they report it.

const count = z.bigint();
const timestamp = z.date();

const edgeRecord = z
  .object({
    id: z.string(),
    /** ready, not ready, or silent: the edge sends no reports but still holds leases. */
    status: z.enum(["ready", "not ready", "silent"]),
    version: z.string().nullable(),
    startedAt: timestamp.nullable(),
    seenAt: timestamp.nullable(),
    /** Why its journal cannot be written. */
    trouble: z.string().nullable(),
    /** Running calls. */
    inFlight: count.nullable(),
    /** The largest leases of the edge, of `leaseCount` in all. */
    leases: z.array(
      z.object({
        organizationId: z.string(),
        ...money("granted", "settled", "released"),
        expiresAt: timestamp,
      }),
    ),
    leaseCount: count,
    /** The edge's journal; unshipped records are ended calls that are not in the ledger yet. */
    journal: z.object({ bytes: count, records: count, unshipped: count, oldestUnshippedAt: timestamp.nullable() }).nullable(),
  })
  .meta({ id: "SystemEdge" });

const trainerRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    organizationId: z.string(),
    status: z.string(),
    seenAt: timestamp.nullable(),
    lastError: z.string().nullable(),
    updates: count,
    failures: count,
  })
  .meta({ id: "SystemTrainer" });

export const systemAnswer = z
  .object({
    version: z.string(),
    startedAt: timestamp,
    controlPlane: z.object({
      store: z.enum(["embedded", "mongodb"]),
      queues: z.object({ settlements: count, reservations: count, notices: count, deliveries: count, federations: count }),
    }),
    edges: z.array(edgeRecord),
    trainers: z.array(trainerRecord),
  })
  .meta({ id: "System" });

export type SystemEdge = z.infer<typeof edgeRecord>;
export type SystemTrainer = z.infer<typeof trainerRecord>;
