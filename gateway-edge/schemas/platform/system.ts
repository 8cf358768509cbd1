import { z } from "zod";
import { money } from "../records.ts";

// How the processes of the platform are, as they say themselves.

const count = z.bigint();
const timestamp = z.date();

const edgeRecord = z
  .object({
    id: z.string(),
    /** ready, not ready, or silent: nothing is heard of it, and it holds credit still. */
    status: z.enum(["ready", "not ready", "silent"]),
    version: z.string().nullable(),
    startedAt: timestamp.nullable(),
    seenAt: timestamp.nullable(),
    /** Why its journal takes nothing. */
    trouble: z.string().nullable(),
    /** Calls that have begun and not ended. */
    inFlight: count.nullable(),
    /** Credit it was lent; those that hold most, of `leaseCount`. */
    leases: z.array(
      z.object({
        organizationId: z.string(),
        ...money("granted", "settled", "released"),
        expiresAt: timestamp,
      }),
    ),
    leaseCount: count,
    /** What it wrote down of its calls; unshipped ones have ended and are not in the ledger yet. */
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
