import { AppError, asAppError } from "../../common/errors.ts";
import type { ServiceHandlers } from "../../common/grpc/server.ts";
import { toErrorInfo } from "../../common/grpc/status.ts";
import type { AccessServiceService, ReserveOutcome, ReserveRequest, SettleRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "../credit/reservations.ts";
import type { LeaseReport } from "../credit/settler.ts";
import type { ControlDeps } from "./deps.ts";
import { usageRow } from "./usage-messages.ts";

type CreditHandlers = Pick<
  ServiceHandlers<typeof AccessServiceService>,
  "reserve" | "reserveMany" | "lease" | "settle" | "flushed" | "release"
>;

/** Is there credit, and here is what was used. */
export function creditHandlers(deps: ControlDeps): CreditHandlers {
  return {
    async reserve(request) {
      const { reserved, rate } = await deps.reservations.reserve(reserveInput(request));
      return { reserved, rate };
    },

    async reserveMany(request) {
      return { outcomes: await Promise.all(request.reservations.map((reservation) => reserveOne(deps, reservation))) };
    },

    async lease(request) {
      const { generation, ...input } = request;
      const answer = await deps.leases.lease({ ...input, generation: Number(generation) });
      return { ...answer, generation: BigInt(answer.generation) };
    },

    async settle(request) {
      const rows = request.settlements.flatMap(({ log }) => (log ? [usageRow(log)] : []));
      const { settled, repeated, refused } = await deps.settler.settle(rows, leaseReport(request));
      if (refused.length > 0) throw new AppError("ALREADY_EXISTS", `Reported before with other content: ${refused.join(", ")}.`);
      return { settled: BigInt(settled), repeatedBefore: BigInt(repeated) };
    },

    async flushed(request) {
      deps.edges.flushed(request.edgeId, Number(request.flush));
      return {};
    },

    async release(request) {
      deps.reservations.release(request.callId);
      return {};
    },
  };
}

function leaseReport({ settlements, returns, edgeId, endedEdges }: SettleRequest): LeaseReport | undefined {
  const leased = settlements.flatMap(({ log, leaseGeneration }) =>
    log && leaseGeneration > 0n ? [[log.callId, Number(leaseGeneration)] as const] : [],
  );
  if (leased.length === 0 && returns.length === 0 && endedEdges.length === 0) return undefined;
  return {
    edgeId,
    endedEdges,
    generations: new Map(leased),
    returns: returns.map(({ organizationId, generation, released }) => ({ organizationId, generation: Number(generation), released })),
  };
}

async function reserveOne(deps: ControlDeps, request: ReserveRequest): Promise<ReserveOutcome> {
  try {
    const reserved = await deps.reservations.reserve(reserveInput(request));
    return { outcome: { $case: "reserved", value: { reserved: reserved.reserved, rate: reserved.rate } } };
  } catch (thrown) {
    return { outcome: { $case: "refused", value: toErrorInfo(asAppError(thrown)) } };
  }
}

function reserveInput(request: ReserveRequest): ReserveInput {
  const { userId, tokens, edgeId: _edge, ...rest } = request;
  return { ...rest, userId: userId === undefined ? undefined : Number(userId), tokens: Number(tokens) };
}
