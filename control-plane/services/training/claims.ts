import { pause, untilBeatMs } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { isCoordinatorAddress } from "../../../common/peers/coordinator-address.ts";
import type { ClaimFederationsRequest, TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Federation } from "../../domain/training-records.ts";
import { federationScope } from "../../stores/scopes.ts";
import {
  claimFederation,
  endFederation,
  findDueFederation,
  openRoundOf,
  releaseFederation,
  renewFederation,
  roundsOf,
} from "../../writes/federations.ts";
import { requireBudgets } from "../../writes/require-budgets.ts";
import { budgetScopes } from "../../writes/round-money.ts";
import type { ControlDeps } from "../deps.ts";
import { federationMessage, roundMessage } from "./messages.ts";
import type { Step } from "./step.ts";

const LEASE_MS_MIN = 100;
const LEASE_MS_MAX = 600_000;
const CLAIMS_MAX = 100;
const EXCEPT_MAX = 1000;
/** How long a claim may wait for work, and how often it may look for it. */
const WAIT_MS_MAX = 10_000;
const LOOK_MS_MIN = 10;

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Handlers with which coordinators get work, keep it and give it back. */
export function claimHandlers(deps: ControlDeps, step: Step): Pick<Handlers, "claimFederations" | "renewFederation" | "releaseFederation"> {
  const { store, clock } = deps;
  /** What each waiting claim leaves to others. A coordinator may release a federation while it waits for another one. */
  const exceptOf = new Map<string, Set<string>>();
  const claimDue = async (request: ClaimFederationsRequest, except: ReadonlySet<string>, leaseMs: number) => {
    const { claim, address } = request;
    const work = [];
    while (work.length < Math.min(request.limit, CLAIMS_MAX)) {
      // Most requests find nothing due, so a read without a transaction comes first.
      const due = await findDueFederation(store, except, clock.now());
      if (!due) break;
      const asked = { id: due.id, claim, leaseMs, address };
      const claimed = await store.transaction(federationScope(due.id), (tx) => claimFederation(tx, asked, clock.now()));
      // Another coordinator was first.
      if (!claimed) continue;
      if (await failWithoutBudget(deps, claimed)) continue;
      const round = await openRoundOf(store, claimed);
      work.push({ federation: federationMessage(claimed, deps), round: round && roundMessage(round) });
    }
    return work;
  };
  return {
    async claimFederations(request, { signal }) {
      const leaseMs = requireLease(request.leaseMs);
      const { claim, address, waitMs = 0, lookMs = 0 } = request;
      if (address !== "" && !isCoordinatorAddress(address))
        throw new AppError(
          "VALIDATION_ERROR",
          "address must be the scheme, host and port of the coordinator, such as https://co.example.org:5100.",
        );
      const over = AbortSignal.any([signal, deps.feed.stopping]);
      const untilMs = clock.monotonicMs() + Math.min(waitMs, WAIT_MS_MAX);
      const except = new Set(request.except.slice(0, EXCEPT_MAX));
      exceptOf.set(claim, except);
      try {
        for (;;) {
          // Nothing is claimed for a caller that has left.
          const work = signal.aborted ? [] : await claimDue(request, except, leaseMs);
          const leftMs = untilMs - clock.monotonicMs();
          if (work.length > 0 || leftMs <= 0 || over.aborted) return { work };
          await pause(clock, Math.min(untilBeatMs(clock, Math.max(lookMs, LOOK_MS_MIN)), leftMs), over);
        }
      } finally {
        exceptOf.delete(claim);
      }
    },

    async renewFederation({ federationId: id, claim, leaseMs: asked }) {
      const leaseMs = requireLease(asked);
      const held = await store.transaction(federationScope(id), (tx) => renewFederation(tx, { id, claim, leaseMs }, clock.now()));
      return { federation: held && federationMessage(held, deps) };
    },

    async releaseFederation(request) {
      // Before the release: with it, the federation is there for all who wait.
      const except = exceptOf.get(request.waitingClaim);
      if (except && except.size < EXCEPT_MAX) except.add(request.federationId);
      await step(request, (tx, federation, now) =>
        releaseFederation(tx, { federation, waitingFor: request.waitingFor.slice(0, 500) }, now),
      );
      return {};
    },
  };
}

/**
 * Fails a federation that would show exact figures of a data set with a budget, before any participant trains: initial parameters are trained
 * without a round. One with all its rounds only has to be ended.
 */
async function failWithoutBudget({ store, clock }: ControlDeps, federation: Federation): Promise<boolean> {
  const { id, claim, head } = federation;
  if (head.round >= roundsOf(federation)) return false;
  try {
    await requireBudgets(store, federation);
    return false;
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== "QUOTA_EXCEEDED") throw thrown;
    const outcome = { state: "failed", failure: { code: thrown.code, message: thrown.message } } as const;
    await store.transaction(await budgetScopes(store, id), async (tx) => {
      const held = await tx.get("federations", id);
      if (held && held.claim === claim) await endFederation(tx, { federation: held, outcome }, clock.now());
    });
    return true;
  }
}

function requireLease(leaseMs: bigint): number {
  const given = Number(leaseMs);
  if (given >= LEASE_MS_MIN && given <= LEASE_MS_MAX) return given;
  throw new AppError("VALIDATION_ERROR", `leaseMs must be ${LEASE_MS_MIN} to ${LEASE_MS_MAX}.`);
}
