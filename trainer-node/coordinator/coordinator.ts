import { pause } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import { ignore } from "../../common/ignore.ts";
import { type FederationSettings, federationSettings } from "../../common/training/federation-settings.ts";
import type { Federation, FederationWork } from "../../proto/gen/tributary/training/v1/training.ts";
import { StorageFull } from "../blobs/blob-owners.ts";
import { BlobsUnavailable } from "./blobs/copies/blob-copies.ts";
import type { ClaimHealth } from "./claim-health.ts";
import {
  bindControl,
  ClaimLost,
  type ClaimRequest,
  claimWork,
  type FederationControl,
  releaseWork,
  type TrainingClient,
} from "./control.ts";
import type { CoordinatorMetrics } from "./coordinator-metrics.ts";
import { withCopiedBlobs } from "./copied-control.ts";
import { type CoordinatorDeps, FederationFailed, type FederationRun } from "./deps.ts";
import { membersOf } from "./participants/joined-work.ts";
import { runFederation } from "./run-federation.ts";
import { createReleasedClaims, missingHere, type ReleasedClaims } from "./updates/readable-work.ts";
import { updateOrigin } from "./updates/update-origin.ts";

/** How long a claim waits at the control plane while there is no work. */
const WAIT_MS = 5000;

/** Options of the coordinator's loop. */
export interface CoordinatorOptions {
  readonly client: TrainingClient;
  readonly federationsMax: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Address at which edges reach this coordinator; empty: edges use their own setting. */
  readonly address: string;
  /** Is notified of every claim, whether it was answered or not. */
  readonly health: Pick<ClaimHealth, "succeeded" | "failed">;
  readonly metrics: Pick<CoordinatorMetrics, "claims" | "counted" | "released">;
}

/** Claims federations without a coordinator and runs them. Its whole state is in the control plane, the blob folder and the blobs' copies. */
export function startCoordinator(deps: CoordinatorDeps, options: CoordinatorOptions): { stop(): Promise<void> } {
  const { clock, logger } = deps;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const failures = countFailures();
  const released = createReleasedClaims(deps);
  let waitingClaim = "";
  const begin = (work: FederationWork, claim: string): void => {
    const done = workOn(deps, options, {
      work,
      claim,
      stopping: stopping.signal,
      failures,
      released,
      waitingClaim: () => waitingClaim,
    }).catch((error: unknown) => {
      logger.error(
        { federation: work.federation?.id, error: error instanceof Error ? error.stack : String(error) },
        "the work on a federation failed; it will be claimed again",
      );
    });
    running.add(done);
    options.metrics.claims = running.size;
    void done.finally(() => {
      running.delete(done);
      options.metrics.claims = running.size;
    });
  };
  const loop = (async () => {
    let isAnswered = false;
    while (!stopping.signal.aborted) {
      const claim = newId("claim", deps);
      const limit = options.federationsMax - running.size;
      const except = released.ids();
      const begunMs = clock.monotonicMs();
      // The control plane looks for work in our stead. It is asked anew where the answer may change: when it did not answer, or what was released may be wanted again.
      const wait: Pick<ClaimRequest, "waitMs" | "lookMs"> =
        isAnswered && except.length === 0 ? { waitMs: WAIT_MS, lookMs: options.pollMs } : {};
      waitingClaim = claim;
      const claimed = limit <= 0 ? [] : await claimOrReport(options, { claim, limit, except, ...wait, signal: stopping.signal });
      waitingClaim = "";
      isAnswered = claimed !== undefined;
      for (const work of claimed ?? []) begin(work, claim);
      await pause(clock, Math.max(options.pollMs - (clock.monotonicMs() - begunMs), 0), stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await loop;
      await Promise.all(running);
    },
  };
}

/** A failed claim does not stop the loop: the next poll tries again, and the failure is logged and shown by `/health`. */
async function claimOrReport(
  { client, leaseMs, health, address }: CoordinatorOptions,
  request: Omit<ClaimRequest, "leaseMs" | "address">,
): Promise<FederationWork[] | undefined> {
  try {
    const work = await claimWork(client, { ...request, leaseMs, address });
    health.succeeded();
    return work;
  } catch (thrown) {
    if (!request.signal.aborted) health.failed(thrown);
    return undefined;
  }
}

interface Claimed {
  readonly work: FederationWork;
  readonly claim: string;
  readonly stopping: AbortSignal;
  readonly failures: FailureCounter;
  readonly released: ReleasedClaims;
  /** The claim with which this coordinator waits for other work, or none. */
  readonly waitingClaim: () => string;
}

/** Works on a federation under its claim, which is renewed from the start: fetching its blobs from another place may take long. */
async function workOn(deps: CoordinatorDeps, options: CoordinatorOptions, claimed: Claimed): Promise<void> {
  const { work, claim, stopping, failures } = claimed;
  const { federation, round } = work;
  if (!federation) return;
  const lost = new AbortController();
  const signal = AbortSignal.any([stopping, lost.signal]);
  const bound = { federationId: federation.id, claim, clock: deps.clock };
  const results = deps.blobs.of(federation.organizationId);
  const blobs = deps.blobs.of(federation.organizationId, updateOrigin(JSON.parse(federation.settings) as FederationSettings));
  const counted = options.metrics.counted(bindControl(options.client, { ...bound, signal }));
  const control = withCopiedBlobs(counted, { results, blobs, federation, signal });
  const renewing = renewUntil(deps, { control, leaseMs: options.leaseMs, signal, lose: () => lost.abort(new ClaimLost()) });
  try {
    const missing = await missingHere(work, blobs);
    if (missing !== undefined) throw new BlobsUnavailable(missing);
    const run: FederationRun = {
      deps: { ...deps, blobs },
      control,
      settings: settingsOf(federation),
      members: membersOf(federation),
      signal,
      federation,
    };
    await runFederation(run, { isRoundOpen: round !== undefined });
  } catch (thrown) {
    const failed = thrown instanceof StorageFull ? new FederationFailed("QUOTA_EXCEEDED", thrown.message) : thrown;
    if (failed instanceof FederationFailed) await control.fail({ code: failed.code, message: failed.message });
    else if (signal.aborted || thrown instanceof ClaimLost) return;
    else if (thrown instanceof BlobsUnavailable) await release(deps, options, { claimed, thrown });
    else await countFailure(control, { failures, federation, thrown });
  } finally {
    lost.abort();
    await renewing;
    // The next coordinator need not wait for the lease to end.
    if (stopping.aborted) await ignore(control.renew(RELEASE_MS), "the lease then ends by itself");
  }
}

/** The federation is claimed again after an unexpected failure, but not forever. */
async function countFailure(
  control: FederationControl,
  { failures, federation, thrown }: { failures: FailureCounter; federation: Federation; thrown: unknown },
): Promise<never> {
  const count = failures.add(federation.id, federation.headRound);
  if (count >= FAILURES_MAX) await control.fail({ code: "SERVER_ERROR", message: failedTooOften(count, federation.headRound + 1) });
  throw thrown;
}

/** A coordinator that lacks blobs, or cannot copy them, releases the claim, so that another one goes on. */
async function release(
  deps: CoordinatorDeps,
  { client, metrics }: CoordinatorOptions,
  { claimed, thrown }: { claimed: Claimed; thrown: BlobsUnavailable },
): Promise<void> {
  const { work, claim, released, waitingClaim } = claimed;
  const { waitingFor } = thrown;
  const federationId = work.federation?.id ?? "";
  const { isFirst } = released.add(federationId);
  metrics.released();
  const fields = { federation: federationId, waitingFor, error: thrown.internal };
  if (isFirst) deps.logger.warn(fields, "a claim was released: this coordinator cannot read or copy its blobs");
  else deps.logger.debug(fields, "a claim was released again");
  await releaseWork(client, { federationId, claim, waitingFor, waitingClaim: waitingClaim() });
}

/** The settings were checked when the federation was created, but maybe by another version. */
function settingsOf({ settings }: Federation): FederationSettings {
  const read = federationSettings.safeParse(JSON.parse(settings));
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new FederationFailed(
    "VALIDATION_ERROR",
    `The settings of the federation are not valid in this version: ${problems.join("; ").slice(0, 800)}`,
  );
}

const RELEASE_MS = 100;
/** Unexpected failures of one round after which the federation fails. */
const FAILURES_MAX = 5;

const failedTooOften = (count: number, round: number): string =>
  `Round ${round} failed unexpectedly ${count} times. The coordinator's log has the errors; ask its operator.`;

interface FailureCounter {
  /** Counts a failure and returns how many the current round has had. */
  add(federationId: string, headRound: number): number;
}

function countFailures(): FailureCounter {
  const known = new Map<string, { headRound: number; count: number }>();
  return {
    add: (federationId, headRound) => {
      const before = known.get(federationId);
      const count = before?.headRound === headRound ? before.count + 1 : 1;
      known.set(federationId, { headRound, count });
      return count;
    },
  };
}

async function renewUntil(
  { clock, logger }: CoordinatorDeps,
  { control, leaseMs, signal, lose }: { control: FederationControl; leaseMs: number; signal: AbortSignal; lose: () => void },
): Promise<void> {
  let heldUntilMs = clock.monotonicMs() + leaseMs;
  while (!signal.aborted) {
    await pause(clock, leaseMs / 3, signal);
    if (signal.aborted) return;
    const askedMs = clock.monotonicMs();
    try {
      await control.renew(leaseMs);
      heldUntilMs = askedMs + leaseMs;
    } catch (thrown) {
      if (thrown instanceof ClaimLost) return lose();
      logger.warn({ error: String(thrown) }, "renewing the lease of a federation failed");
      // Another coordinator may have the federation by now. The control plane would refuse our writes, so further work is useless.
      if (clock.monotonicMs() > heldUntilMs + leaseMs) return lose();
    }
  }
}
