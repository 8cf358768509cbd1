import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { VERSION } from "../../../common/version.ts";
import type { Edge, Queues, SystemServiceService, Trainer } from "../../../proto/gen/tributary/system/v1/system.ts";
import { outstandingOf } from "../../domain/lease.ts";
import type { Lease } from "../../domain/records.ts";
import type { TrainerNode } from "../../domain/training-records.ts";
import { collect } from "../../stores/page.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, optionalDate } from "../messages.ts";
import { sendBackup } from "./send-backup.ts";

/** Bounds of one answer: there is a lease per edge and calling organization. */
const LEASES_SHOWN_MAX = 50;
const TRAINERS_SHOWN_MAX = 200;

/** Handlers for the state of the processes, as they report it. */
export function systemHandlers(deps: ControlDeps): ServiceHandlers<typeof SystemServiceService> {
  const startedAt = date(deps.clock.now());
  return {
    async reportEdge(request) {
      if (!request.id) throw new AppError("VALIDATION_ERROR", "The report of an edge must have an id.");
      deps.edgeReports.take(request, deps.clock.now());
      return {};
    },

    async getSystem(_request, context) {
      await requireAdmin(deps, context);
      const [queues, edges, trainers] = await Promise.all([queuesOf(deps), edgesOf(deps), trainersOf(deps)]);
      const store = deps.config.mongo ? "mongodb" : "embedded";
      return { controlPlane: { version: VERSION, startedAt, store, queues }, edges, trainers };
    },

    backup: (_request, stream) => void sendBackup(deps, stream),
  };
}

async function queuesOf({ store, settler, reservations }: ControlDeps): Promise<Queues> {
  const [notices, deliveries, federations] = await Promise.all([
    store.count("notices"),
    store.count("deliveries", { index: "byDue" }),
    store.count("federations", { index: "byDue" }),
  ]);
  return {
    settlements: BigInt(settler.waiting),
    reservations: BigInt(reservations.size),
    notices: BigInt(notices),
    deliveries: BigInt(deliveries),
    federations: BigInt(federations),
  };
}

/** Edges that report, and edges that no longer report but still hold credit. */
async function edgesOf({ store, clock, edgeReports }: ControlDeps): Promise<Edge[]> {
  const now = clock.now();
  const reports = edgeReports.recent(now);
  const leases = Map.groupBy(await collect(store.scan("leases", { index: "byExpiry", from: now + 1 })), ({ edgeId }) => edgeId);
  return [...new Set([...reports.keys(), ...leases.keys()])].sort().map((id) => {
    const edge = reports.get(id);
    const own = (leases.get(id) ?? []).sort((left, right) => (outstandingOf(left) < outstandingOf(right) ? 1 : -1));
    return {
      id,
      report: edge?.report,
      seenAt: optionalDate(edge?.seenAt),
      leases: own.slice(0, LEASES_SHOWN_MAX).map(leaseMessage),
      leaseCount: BigInt(own.length),
    };
  });
}

function leaseMessage({ organizationId, granted, settled, released, expiresAt }: Lease) {
  return { organizationId, granted, settled, released, expiresAt: date(expiresAt) };
}

async function trainersOf({ store }: ControlDeps): Promise<Trainer[]> {
  const nodes = await collect(store.scan("trainerNodes", { reverse: true, limit: TRAINERS_SHOWN_MAX }));
  return nodes.map(({ id, name, url, organizationId, status, lastSeenAt, lastError, updates, failures }: TrainerNode) => ({
    id,
    name,
    url,
    organizationId,
    status,
    seenAt: optionalDate(lastSeenAt),
    lastError,
    updates: BigInt(updates),
    failures: BigInt(failures),
  }));
}
