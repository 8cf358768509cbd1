import { AppError, asAppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { toErrorInfo } from "../../../common/grpc/status.ts";
import type {
  AccessServiceService,
  RatePermit,
  ReserveOutcome,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
} from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Reserved, ReserveInput } from "../../credit/call-credit.ts";
import { HeldError } from "../../credit/ended-calls.ts";
import type { UnusedPermit } from "../../credit/rate-limiter.ts";
import type { LeaseReport } from "../../credit/report-parts.ts";
import { NotOwner } from "../../domain/not-owner.ts";
import { requireOwner } from "../../slots/require-owner.ts";
import type { ControlDeps } from "../deps.ts";
import { usageRow } from "../usage/messages.ts";

type CreditHandlers = Pick<
  ServiceHandlers<typeof AccessServiceService>,
  "reserve" | "reserveMany" | "lease" | "settle" | "flushed" | "release"
>;

/** Handlers for reservations, leases and settlements. */
export function creditHandlers(deps: ControlDeps): CreditHandlers {
  return {
    async reserve(request) {
      const input = reserveInput(request);
      return reserveResponse(await deps.ended.retried(input.organizationId, () => deps.reservations.reserve(input)));
    },

    async reserveMany(request) {
      // Before any is reserved: reservations of several owners are divided.
      for (const { organizationId } of request.reservations) requireOwner(deps, organizationId);
      return { outcomes: await Promise.all(request.reservations.map((reservation) => reserveOne(deps, reservation))) };
    },

    async lease(request, { signal }) {
      requireOwner(deps, request.organizationId);
      const { generation, ...input } = request;
      const answer = await deps.leases.lease({ ...input, generation: Number(generation) }, signal);
      return { ...answer, generation: BigInt(answer.generation) };
    },

    async settle(request) {
      for (const organizationId of organizationsOf(request)) requireOwner(deps, organizationId);
      const rows = request.settlements.flatMap(({ log }) => (log ? [usageRow(log)] : []));
      const settling = deps.settler.settle(rows, leaseReport(request));
      const { settled, repeated, refused } = await (deps.settlementSpans?.around(request.settlements, settling) ?? settling);
      if (refused.length > 0)
        throw new AppError("ALREADY_EXISTS", `These calls were settled before with other content: ${refused.join(", ")}.`);
      deps.reservations.endEdges(request.endedEdges);
      // Objects of the gRPC server can outlive the call by seconds and refer to its request: 850 bytes of each settled call became old garbage.
      request.settlements = [];
      return { settled: BigInt(settled), repeatedBefore: BigInt(repeated) };
    },

    async flushed(request) {
      deps.edges.flushed(request.edgeId, Number(request.flush));
      return {};
    },

    async release({ callId, unused, organizationId }) {
      // An edge of an older version does not name it, and knows only this control plane.
      if (organizationId !== "") requireOwner(deps, organizationId);
      if (unused) deps.reservations.takeBack(callId, unusedPermit(unused));
      else deps.reservations.release(callId);
      return {};
    },
  };
}

function organizationsOf({ settlements, returns }: SettleRequest): Set<string> {
  const organizations = new Set(returns.map(({ organizationId }) => organizationId));
  let last: string | undefined;
  for (const { log } of settlements) {
    // Most calls of a batch have the same one.
    if (!log || log.organizationId === last) continue;
    last = log.organizationId;
    organizations.add(last);
  }
  return organizations;
}

function leaseReport({ settlements, returns, edgeId, endedEdges }: SettleRequest): LeaseReport | undefined {
  const generations = new Map<string, number>();
  for (const { log, leaseGeneration } of settlements) if (log && leaseGeneration > 0n) generations.set(log.callId, Number(leaseGeneration));
  if (generations.size === 0 && returns.length === 0 && endedEdges.length === 0) return undefined;
  return {
    edgeId,
    endedEdges,
    generations,
    returns: returns.map(({ organizationId, generation, released }) => ({ organizationId, generation: Number(generation), released })),
  };
}

async function reserveOne(deps: ControlDeps, request: ReserveRequest): Promise<ReserveOutcome> {
  try {
    const value = reserveResponse(await deps.reservations.reserve(reserveInput(request)));
    return { outcome: { $case: "reserved", value }, isPerhapsOver: false };
  } catch (thrown) {
    if (thrown instanceof NotOwner) throw thrown;
    // Edges are not asked here: the other calls of the request would wait for them.
    return { outcome: { $case: "refused", value: toErrorInfo(asAppError(thrown)) }, isPerhapsOver: thrown instanceof HeldError };
  }
}

function reserveInput(request: ReserveRequest): ReserveInput {
  const { userId, tokens, edgeId, aheadRequests, aheadTokens, aheadParallel, ...rest } = request;
  const ahead =
    aheadRequests > 0n ? { requests: Number(aheadRequests), tokens: Number(aheadTokens), parallel: aheadParallel, edgeId } : undefined;
  const from = edgeId === "" ? undefined : edgeId;
  return { ...rest, edgeId: from, userId: userId === undefined ? undefined : Number(userId), tokens: Number(tokens), ahead };
}

function reserveResponse({ reserved, rate, permit }: Reserved): ReserveResponse {
  if (!permit) return { reserved, rate };
  const { requests, tokens, lifeMs, parallel } = permit;
  return {
    reserved,
    rate,
    permit: { requests: BigInt(requests), tokens: tokens === undefined ? undefined : BigInt(tokens), lifeMs, parallel },
  };
}

function unusedPermit({ requests, tokens, parallel }: RatePermit): UnusedPermit {
  return { requests: Number(requests), tokens: Number(tokens ?? 0n), parallel };
}
