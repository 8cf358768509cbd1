import { pause } from "../../common/clock.ts";
import { settingOf, strategyNamed } from "../../common/strategies/shared/registry.ts";
import type { Federation, Participant, Round, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { StorageFull } from "../blobs/blob-owners.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { notEnough } from "./not-enough.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import type { TrainedUpdate } from "./participants/participants.ts";
import { requireAllCapabilities, requireCapabilities } from "./participants/require-capabilities.ts";
import { createSlots, type Slots, takeSlot } from "./participants/slots.ts";
import { finishRound } from "./run-round.ts";
import { trainTask } from "./train-task.ts";
import { resultOf } from "./updates/collect-updates.ts";
import { inspectBlob, readUpdate } from "./updates/inspect-blob.ts";
import { type Layout, requireReadable, requireSamples, SHAPE_MISMATCH } from "./updates/inspect-update.ts";
import { rebaseUpdate } from "./updates/rebase.ts";
import { openRoundLayouts, type RoundLayouts } from "./updates/round-layouts.ts";

const RETRY_MS = { first: 500, max: 10_000 };

/** A participant's result, and the round whose parameters it trained from. */
interface Arrival {
  readonly participant: Participant;
  readonly outcome: TrainedUpdate | ParticipantProblem | FederationFailed;
  readonly began: Federation;
  readonly durationMs: number;
}

/** A round that collects updates. */
interface OpenRound {
  readonly round: Round;
  readonly layouts: RoundLayouts;
  /** Participants whose updates do not fit the others: they are not asked again in this round, nor waited for. */
  readonly misfits: Set<string>;
}

/**
 * Asynchronous rounds: every participant trains all the time from the newest parameters, and a round ends after a number of updates.
 * Updates of slow participants come late and weigh less.
 */
export class AsynchronousRounds {
  #run: FederationRun;
  readonly #slots: Slots;
  readonly #arrivals: Arrival[] = [];
  readonly #working = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, number>();
  #wake: () => void = () => {};

  constructor(run: FederationRun) {
    this.#run = run;
    this.#slots = createSlots(run.deps.callsMax);
  }

  /** Runs the next round and returns the federation after it. */
  async next(run: FederationRun): Promise<Federation> {
    const { control, members } = run;
    await requireAllCapabilities(run, members);
    const round = await control.openRound(members.map(({ id }) => id));
    if (round.state === "selecting") await control.setPhase(round.round, "training");
    const accepted = await this.#collect(run, round);
    return finishRound(run, round, accepted);
  }

  async #collect(run: FederationRun, round: Round): Promise<RoundParticipant[]> {
    const { deps, settings, signal } = run;
    this.#run = run;
    let accepted = acceptedIn(round);
    const buffer = Number(settingOf(settings.strategy, "buffer"));
    // A round never has more results than its buffer, so minResults cannot ask for more.
    const needed = Math.min(settings.minResults ?? 1, buffer);
    const open: OpenRound = { round, layouts: await openRoundLayouts(run, round.round, accepted), misfits: new Set() };
    const wanted = (): number => Math.max(needed, Math.min(buffer, run.members.length - open.misfits.size));
    const deadlineMs = deps.clock.monotonicMs() + settings.deadlineMs;
    for (;;) {
      signal.throwIfAborted();
      const leftMs = deadlineMs - deps.clock.monotonicMs();
      if (accepted.length < wanted() && (leftMs > 0 || this.#arrivals.length > 0)) {
        accepted = await this.#nextAccepted(run, open, { accepted, leftMs });
        continue;
      }
      const fitting = await withoutMisfits(open, accepted);
      if (fitting.length === accepted.length) break;
      accepted = fitting;
    }
    if (accepted.length >= needed) return accepted;
    const { minResults, deadlineMs: waitedMs } = settings;
    const lacks = minResults === undefined ? `0 of ${wanted()} updates after ${waitedMs} ms.` : `${accepted.length} of ${needed} results.`;
    throw await notEnough(run, round, lacks);
  }

  /** The accepted updates after the next arrival, or after the time that is left. */
  async #nextAccepted(
    run: FederationRun,
    open: OpenRound,
    { accepted, leftMs }: { accepted: RoundParticipant[]; leftMs: number },
  ): Promise<RoundParticipant[]> {
    this.#sendOut(run, { accepted, misfits: open.misfits });
    const arrival = this.#arrivals.shift();
    if (arrival) return acceptedIn(await this.#take(run, open, arrival));
    await this.#nextArrival(leftMs);
    return accepted;
  }

  /** Starts training on every idle participant whose update is not in this round yet. */
  #sendOut(run: FederationRun, { accepted, misfits }: { accepted: readonly RoundParticipant[]; misfits: ReadonlySet<string> }): void {
    const done = new Set([...misfits, ...accepted.map(({ participantId }) => participantId)]);
    const waiting = new Set(this.#arrivals.map(({ participant }) => participant.id));
    for (const participant of run.members) {
      if (done.has(participant.id) || waiting.has(participant.id) || this.#working.has(participant.id)) continue;
      const work = this.#train(participant).finally(() => this.#working.delete(participant.id));
      this.#working.set(participant.id, work);
    }
  }

  /** One that failed waits before it takes a slot, so that the others get theirs. Training starts from the head at the time of the call. */
  async #train(participant: Participant): Promise<void> {
    const { deps, signal } = this.#run;
    const tries = this.#failures.get(participant.id) ?? 0;
    const delayMs = tries === 0 ? 0 : Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** (tries - 1));
    await pause(deps.clock, delayMs, signal);
    const release = await takeSlot(deps, this.#slots, participant);
    const run = this.#run;
    const begunMs = deps.clock.monotonicMs();
    const outcome = await trained(run, participant).finally(release);
    if (signal.aborted) return;
    this.#failures.set(participant.id, outcome instanceof ParticipantProblem ? tries + 1 : 0);
    this.#arrivals.push({ participant, outcome, began: run.federation, durationMs: deps.clock.monotonicMs() - begunMs });
    this.#wake();
  }

  async #take(run: FederationRun, { round, layouts, misfits }: OpenRound, arrival: Arrival): Promise<Round> {
    const { participant, began, durationMs } = arrival;
    const result = await acceptable(run, arrival, layouts);
    const state = result instanceof ParticipantProblem ? "failed" : "accepted";
    const recorded = resultOf(run, participant, { result, state, durationMs, baseRound: began.headRound });
    const latest = await run.control.recordResult(round.round, recorded);
    if (!(result instanceof ParticipantProblem)) layouts.add(recorded, result.layout);
    else if (result.message.startsWith(SHAPE_MISMATCH)) misfits.add(participant.id);
    return latest;
  }

  #nextArrival(leftMs: number): Promise<void> {
    const { clock } = this.#run.deps;
    return new Promise((resolve) => {
      const stop = clock.after(leftMs, resolve);
      const abort = () => this.#wake();
      this.#run.signal.addEventListener("abort", abort, { once: true });
      this.#wake = () => {
        stop();
        this.#run.signal.removeEventListener("abort", abort);
        resolve();
      };
    });
  }
}

async function trained(run: FederationRun, participant: Participant): Promise<Arrival["outcome"]> {
  const { deps, signal, federation } = run;
  try {
    signal.throwIfAborted();
    await requireCapabilities(run, participant, signal);
    return await deps.participants.train(participant, trainTask(run, participant, federation.headRound + 1), signal);
  } catch (thrown) {
    if (thrown instanceof ParticipantProblem || thrown instanceof FederationFailed || thrown instanceof StorageFull) return thrown;
    return new ParticipantProblem(String(thrown), { again: true });
  }
}

/** An update as the open round can use it; with a strategy that rebases, one that started earlier is added to the current parameters. */
async function acceptable(
  run: FederationRun,
  { participant, outcome, began }: Arrival,
  layouts: RoundLayouts,
): Promise<(TrainedUpdate & { readonly layout: Layout }) | ParticipantProblem> {
  if (outcome instanceof FederationFailed || outcome instanceof StorageFull) throw outcome;
  if (outcome instanceof ParticipantProblem) return outcome;
  const { deps, federation, settings } = run;
  try {
    const layout = outcome.layout ?? (await inspectBlob(deps.blobs, outcome.blob));
    requireReadable(layout, settings);
    requireSamples(outcome.samples, settings, participant);
    const found = { ...outcome, layout };
    if (federation.headBlob === "") return found;
    layouts.require(layout);
    const factor = strategyNamed(settings.strategy.name).rebase?.(settings.strategy, federation.headRound - began.headRound);
    if (factor === undefined || (factor === 1 && began.headBlob === federation.headBlob)) return found;
    const update = await readUpdate(deps.blobs, outcome.blob);
    const head = await readUpdate(deps.blobs, federation.headBlob);
    const base = began.headBlob === "" ? head : await readUpdate(deps.blobs, began.headBlob);
    const { sha256, bytes } = await deps.blobs.keepBytes(rebaseUpdate({ update, base, head, factor }));
    return { ...found, blob: sha256, bytes };
  } catch (thrown) {
    if (thrown instanceof ParticipantProblem) return thrown;
    throw thrown;
  }
}

/** The accepted updates that fit together. The others have failed then. */
async function withoutMisfits({ layouts, misfits }: OpenRound, accepted: RoundParticipant[]): Promise<RoundParticipant[]> {
  const latest = await layouts.takeBackMisfits();
  if (latest === undefined) return accepted;
  const fitting = acceptedIn(latest);
  const ids = new Set(fitting.map(({ participantId }) => participantId));
  for (const { participantId } of accepted) if (!ids.has(participantId)) misfits.add(participantId);
  return fitting;
}

const acceptedIn = ({ participants }: Round): RoundParticipant[] => participants.filter(({ state }) => state === "accepted");
