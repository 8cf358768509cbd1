import type { Command } from "commander";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import { registerOperation } from "../../operations/register.ts";
import type { OperationSpec } from "../../operations/spec.ts";
import { type Column, valueAt } from "../../output/values.ts";

const edgeColumns: readonly Column[] = [
  { title: "edge", at: "id" },
  { title: "status", at: "status", as: "state" },
  { title: "version", at: "version" },
  { title: "started", at: "startedAt", as: "time" },
  { title: "in flight", at: "inFlight", as: "count" },
  { title: "leases", at: "leaseCount", as: "count" },
  { title: "journal bytes", at: "journal.bytes", as: "count" },
  { title: "unshipped", at: "journal.unshipped", as: "count" },
];

const leaseColumns: readonly Column[] = [
  { title: "edge", at: "edge" },
  { title: "organization", at: "organizationId" },
  { title: "granted", at: "granted", as: "usd" },
  { title: "settled", at: "settled", as: "usd" },
  { title: "released", at: "released", as: "usd" },
  { title: "expires", at: "expiresAt", as: "time" },
];

const trainerColumns: readonly Column[] = [
  { title: "trainer", at: "url" },
  { title: "organization", at: "organizationId" },
  { title: "status", at: "status", as: "state" },
  { title: "last seen", at: "seenAt", as: "time" },
  { title: "updates", at: "updates", as: "count" },
  { title: "failures", at: "failures", as: "count" },
  { title: "last error", at: "lastError" },
];

const system: OperationSpec = {
  name: "system",
  summary: "Show system status: versions, queues, edges with leases and journals, trainer nodes",
  method: "GET",
  path: "/api/admin/system",
  // The endpoint also takes the master key, so that a script does not need a password.
  auth: "either",
  view: {
    kind: "record",
    fields: [
      { title: "version", at: "version" },
      { title: "started", at: "startedAt", as: "time" },
      { title: "store", at: "controlPlane.store" },
      { title: "pending settlements", at: "controlPlane.queues.settlements", as: "count" },
      { title: "reservations", at: "controlPlane.queues.reservations", as: "count" },
      { title: "notices", at: "controlPlane.queues.notices", as: "count" },
      { title: "deliveries", at: "controlPlane.queues.deliveries", as: "count" },
      { title: "federations", at: "controlPlane.queues.federations", as: "count" },
    ],
    id: "version",
  },
  after: (context, { body }) => showParts(context, body),
};

/** Prints the processes as tables on a terminal. JSON output already contains them. */
function showParts({ print }: Context, body: unknown): void {
  if (print.json || print.quiet) return;
  const show = (columns: readonly Column[], rows: readonly unknown[]) => {
    if (rows.length > 0) print.table(columns, rows);
  };
  const edges = listAt(body, "edges");
  show(edgeColumns, edges);
  show(
    leaseColumns,
    edges.flatMap((edge) => listAt(edge, "leases").map((lease) => ({ ...(lease as object), edge: valueAt(edge, "id") }))),
  );
  show(trainerColumns, listAt(body, "trainers"));
}

function listAt(body: unknown, name: string): readonly unknown[] {
  const list = valueAt(body, name);
  return Array.isArray(list) ? list : [];
}

export function registerAdminSystem(admin: Command, io: Io): void {
  registerOperation(admin, io, system);
}
