import { type FederationSettings, federationSettings } from "../../common/federation-settings.ts";
import { newId } from "../../common/ids.ts";
import type { Federation, FederationWork } from "../../proto/gen/tributary/training/v1/training.ts";
import type { ClaimHealth } from "./claim-health.ts";
import { bindControl, ClaimLost, claimWork, type FederationControl, releaseWork, type TrainingClient } from "./control.ts";
import { type CoordinatorDeps, FederationFailed, type FederationRun } from "./deps.ts";
import { membersOf } from "./participants/joined-work.ts";
import { runFederation } from "./run-federation.ts";
import { type GivenBack, missingHere, rememberGivenBack } from "./updates/readable-work.ts";

export interface CoordinatorOptions {
  readonly client: TrainingClient;
  readonly federationsMax: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Is notified of every claim, whether it was answered or not. */
  readonly health: Pick<ClaimHealth, "succeeded" | "failed">;
}

/** Claims federations that nobody works on and works on them. Holds nothing that the control plane and the blob folder do not have. */
export function startCoordinator(deps: CoordinatorDeps, options: CoordinatorOptions): { stop(): Promise<void> } {
  const { clock, logger } = deps;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const troubles = countTroubles();
  const givenBack = rememberGivenBack(deps);
  const begin = (work: FederationWork, claim: string): void => {
    const done = workOrGiveBack(deps, options, { work, claim, stopping: stopping.signal, troubles, givenBack }).catch((error: unknown) => {
      logger.error(
        { federation: work.federation?.id, error: error instanceof Error ? error.stack : String(error) },
        "the work was given up",
      );
    });
    running.add(done);
    void done.finally(() => running.delete(done));
  };
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const claim = newId("claim", deps);
      const limit = options.federationsMax - running.size;
      const claimed = limit <= 0 ? [] : await claimOrReport(options, { claim, limit, except: givenBack.ids() });
      for (const work of claimed) begin(work, claim);
      await clock.sleep(options.pollMs, stopping.signal).catch(() => {});
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

/** A failed claim is no reason to stop: the next poll asks again, and the failure is logged and shown by `/health`. */
async function claimOrReport(
  { client, leaseMs, health }: CoordinatorOptions,
  { claim, limit, except }: { claim: string; limit: number; except: string[] },
): Promise<FederationWork[]> {
  try {
    const work = await claimWork(client, { claim, leaseMs, limit, except });
    health.succeeded();
    return work;
  } catch (thrown) {
    health.failed(thrown);
    return [];
  }
}

interface Claimed {
  readonly work: FederationWork;
  readonly claim: string;
  readonly stopping: AbortSignal;
  readonly troubles: Troubles;
  readonly givenBack: GivenBack;
}

/** Parameters and updates are in the folder of the coordinator that took them in: one that lacks them leaves the work to it. */
async function workOrGiveBack(deps: CoordinatorDeps, options: CoordinatorOptions, claimed: Claimed): Promise<void> {
  const { work, claim, givenBack } = claimed;
  const waitingFor = await missingHere(work, deps.blobs);
  if (waitingFor === undefined) return workOn(deps, options, claimed);
  const federationId = work.federation?.id ?? "";
  const { isFirst } = givenBack.add(federationId);
  const fields = { federation: federationId, waitingFor };
  if (isFirst) deps.logger.warn(fields, "a claim was given back: its blobs are not in this coordinator's folder");
  else deps.logger.debug(fields, "a claim was given back again");
  await releaseWork(options.client, { federationId, claim, waitingFor });
}

async function workOn(deps: CoordinatorDeps, options: CoordinatorOptions, { work, claim, stopping, troubles }: Claimed): Promise<void> {
  const { federation, round } = work;
  if (!federation) return;
  const lost = new AbortController();
  const signal = AbortSignal.any([stopping, lost.signal]);
  const bound = { federationId: federation.id, claim, clock: deps.clock };
  const control = bindControl(options.client, { ...bound, signal });
  const renewing = renewUntil(deps, { control, leaseMs: options.leaseMs, signal, lose: () => lost.abort(new ClaimLost()) });
  try {
    const run: FederationRun = {
      deps,
      control,
      settings: settingsOf(federation),
      members: membersOf(federation),
      signal,
      federation,
    };
    await runFederation(run, { isRoundOpen: round !== undefined });
  } catch (thrown) {
    if (thrown instanceof FederationFailed) {
      await control.end("failed", { code: thrown.code, message: thrown.message });
    } else if (!signal.aborted && !(thrown instanceof ClaimLost)) {
      const count = troubles.add(federation.id, federation.headRound);
      if (count >= TROUBLES_MAX) await control.end("failed", { code: "SERVER_ERROR", message: hopeless(count, federation.headRound + 1) });
      throw thrown;
    }
  } finally {
    lost.abort();
    await renewing;
    // Whoever starts next need not wait for the lease to end.
    if (stopping.aborted) await control.renew(RELEASE_MS).catch(() => {});
  }
}

/** They were checked when the federation was created, maybe by a version that knew other ones. */
function settingsOf({ settings }: Federation): FederationSettings {
  const read = federationSettings.safeParse(JSON.parse(settings));
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new FederationFailed("VALIDATION_ERROR", `Its settings are not valid any more: ${problems.join("; ").slice(0, 800)}`);
}

const RELEASE_MS = 100;
/** What nobody foresaw may pass; what comes again so often in one round does not. */
const TROUBLES_MAX = 5;

const hopeless = (count: number, round: number): string =>
  `Round ${round} was given up ${count} times; the coordinator's log says why. Its operator can help.`;

interface Troubles {
  /** How often it has happened in this round. */
  add(federationId: string, headRound: number): number;
}

function countTroubles(): Troubles {
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
    await clock.sleep(leaseMs / 3, signal).catch(() => {});
    if (signal.aborted) return;
    const askedMs = clock.monotonicMs();
    try {
      await control.renew(leaseMs);
      heldUntilMs = askedMs + leaseMs;
    } catch (thrown) {
      if (thrown instanceof ClaimLost) return lose();
      logger.warn({ error: String(thrown) }, "a lease could not be renewed");
      // Another may have it by now. The control plane refuses our writes then; working on would be for nothing.
      if (clock.monotonicMs() > heldUntilMs + leaseMs) return lose();
    }
  }
}
