import { AppError } from "../../common/errors.ts";
import { toJson } from "../../common/json.ts";
import { ROUNDS_MAX } from "../../common/training/federation-settings.ts";
import { isOver, stateAfter } from "../domain/federation-state.ts";
import type { Federation, TrainingRound } from "../domain/training-records.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { returnBudget } from "./round-money.ts";
import { abandonedPrivacy, returnPrivacy } from "./spend-privacy.ts";

/** An event before it has a sequence number. */
export interface EventInput {
  type: string;
  data?: Readonly<Record<string, unknown>>;
}

export const roundId = (federationId: string, round: number): string => `${federationId}/${String(round).padStart(9, "0")}`;

/** Writes a federation and its events in the same transaction. */
export async function putFederation(
  tx: Transaction,
  federation: Federation,
  events: readonly EventInput[],
  now: number,
): Promise<Federation> {
  let eventSeq = federation.eventSeq;
  for (const { type, data = {} } of events) {
    eventSeq += 1;
    const id = roundId(federation.id, eventSeq);
    await tx.insert("federationEvents", { id, federationId: federation.id, sequence: eventSeq, type, data: toJson(data), at: now });
  }
  const written = { ...federation, eventSeq, updatedAt: now };
  await tx.put("federations", written);
  return written;
}

/** The federation that has waited longest for a coordinator, except those that this coordinator released. */
export async function findDueFederation(reader: Reader, except: ReadonlySet<string>, now: number): Promise<Federation | undefined> {
  const due = await collect(reader.scan("federations", { index: "byDue", before: now + 1, limit: except.size + 1 }));
  return due.find(({ id }) => !except.has(id));
}

/** Claims a federation for a coordinator; returns undefined if it is no longer due. */
export async function claimFederation(
  tx: Transaction,
  { id, claim, leaseMs, address }: { id: string; claim: string; leaseMs: number; address: string },
  now: number,
): Promise<Federation | undefined> {
  const federation = await tx.get("federations", id);
  if (federation?.dueAt === undefined || federation.dueAt > now) return undefined;
  const { holder: formerHolder, formerHolder: _before, ...rest } = federation;
  const held: Federation = {
    ...rest,
    claim,
    dueAt: now + leaseMs,
    ...(address === "" ? {} : { holder: address }),
    ...(formerHolder === undefined ? {} : { formerHolder }),
  };
  await tx.put("federations", held);
  return held;
}

/** Extends the claim; returns undefined if the coordinator no longer has it. */
export async function renewFederation(
  tx: Transaction,
  { id, claim, leaseMs }: { id: string; claim: string; leaseMs: number },
  now: number,
): Promise<Federation | undefined> {
  const federation = await tx.get("federations", id);
  if (federation?.claim !== claim) return undefined;
  const held = { ...federation, dueAt: now + leaseMs };
  await tx.put("federations", held);
  return held;
}

/** Releases the claim. The federation waits for a coordinator that can do the work, and is due at once. */
export async function releaseFederation(
  tx: Transaction,
  { federation, waitingFor }: { federation: Federation; waitingFor: string },
  now: number,
): Promise<Federation> {
  const { holder: _holder, formerHolder, ...rest } = withoutClaim(federation);
  const held = formerHolder === undefined ? {} : { holder: formerHolder };
  const freed: Federation = { ...rest, ...held, state: stateAfter(federation.state, "wait"), waitingFor, dueAt: now };
  // One event per wait, however many coordinators claim and release it.
  const isNew = federation.waitingFor !== waitingFor || federation.state !== freed.state;
  return putFederation(tx, freed, isNew ? [{ type: "federation.waiting", data: { waitingFor } }] : [], now);
}

/** The federation, for a coordinator that holds its claim. Throws RECORD_CHANGED if the claim is lost. */
export async function requireClaim(reader: Reader, { id, claim }: { id: string; claim: string }): Promise<Federation> {
  const federation = await reader.get("federations", id);
  if (!federation) throw new AppError("NOT_FOUND", "There is no such federation.");
  if (federation.claim !== claim) throw new AppError("RECORD_CHANGED", "This coordinator no longer has the claim on the federation.");
  return federation;
}

/** The open round; a federation has at most one. */
export async function openRoundOf(reader: Reader, federation: Federation): Promise<TrainingRound | undefined> {
  const round = await reader.get("trainingRounds", roundId(federation.id, federation.head.round + 1));
  return round && round.state !== "abandoned" ? round : undefined;
}

/** Pauses, resumes or stops a federation. The coordinator that works on it loses its claim. */
export async function controlFederation(
  tx: Transaction,
  { federation, action }: { federation: Federation; action: "pause" | "resume" | "stop" },
  now: number,
): Promise<Federation> {
  const state = stateAfter(federation.state, action);
  const freed = withoutClaim(federation);
  const privacy = action === "stop" ? await abandonRound(tx, federation, now) : {};
  const next: Federation = action === "resume" ? { ...freed, state, dueAt: now } : { ...freed, ...privacy, state };
  return putFederation(tx, next, [{ type: `federation.${action === "resume" ? "resumed" : state}`, data: { state } }], now);
}

/** How many rounds the federation is to have. */
export const roundsOf = ({ settings }: Federation): number => (JSON.parse(settings) as { rounds?: number }).rounds ?? 0;

/** Adds rounds to a federation. One that has completed or failed continues from its last committed round. */
export async function extendFederation(
  tx: Transaction,
  { federation, rounds }: { federation: Federation; rounds: number },
  now: number,
): Promise<Federation> {
  const { head } = federation;
  const hasEnded = isOver(federation.state);
  // A federation that ended early gets as many more rounds as one that had them all.
  const total = (hasEnded ? head.round : roundsOf(federation)) + rounds;
  if (rounds < 1 || total > ROUNDS_MAX) {
    const message = `must be at least 1, and the federation may have at most ${ROUNDS_MAX} rounds`;
    throw new AppError("VALIDATION_ERROR", `rounds ${message}.`, { details: [{ path: "body.rounds", message }] });
  }
  const settings = JSON.stringify({ ...(JSON.parse(federation.settings) as object), rounds: total });
  const event = { type: "federation.extended", data: { rounds: total } };
  if (!hasEnded) return putFederation(tx, { ...federation, settings }, [event], now);
  const state = stateAfter(federation.state, "extend");
  const { failure: _failure, ...rest } = withoutClaim(federation);
  return putFederation(tx, { ...rest, settings, state, extendedAt: head.round, dueAt: now }, [event], now);
}

/** The end of a federation that was extended while its last round was committed: it is due at once and goes on. */
export async function continueExtended(tx: Transaction, federation: Federation, now: number): Promise<Federation> {
  return putFederation(tx, { ...withoutClaim(federation), dueAt: now }, [], now);
}

/** Stores the parameters that round 1 starts from. The first ones stay, also if the coordinator repeats the call. */
export async function setInitial(
  tx: Transaction,
  { federation, blob, start }: { federation: Federation; blob: string; start: string },
  now: number,
): Promise<Federation> {
  const { head } = federation;
  if (head.round > 0 || head.blob !== "") return federation;
  const started: Federation = {
    ...federation,
    head: { ...head, blob },
    initialBlob: blob,
    ...(start === "" ? {} : { initialStart: start }),
  };
  return putFederation(
    tx,
    started,
    [{ type: "federation.initialized", data: { parameters: blob, ...(start === "" ? {} : { start: JSON.parse(start) as unknown }) } }],
    now,
  );
}

/** Ends a federation: nothing is due any more, and the budget of an uncommitted round is returned. */
export async function endFederation(
  tx: Transaction,
  {
    federation,
    outcome,
  }: { federation: Federation; outcome: { state: "completed" | "failed"; failure?: { code: string; message: string } } },
  now: number,
): Promise<Federation> {
  const state = stateAfter(federation.state, outcome.state === "completed" ? "complete" : "fail");
  const round = await openRoundOf(tx, federation);
  if (round && NOT_ENFORCED.includes(outcome.failure?.code ?? "")) await returnPrivacy(tx, { federation, round }, now);
  const privacy = await abandonRound(tx, federation, now);
  const ended: Federation = { ...withoutClaim(federation), ...privacy, state, ...(outcome.failure ? { failure: outcome.failure } : {}) };
  return putFederation(tx, ended, [{ type: `federation.${state}`, data: { ...outcome, headRound: federation.head.round } }], now);
}

/** Failure codes of federations whose privacy the coordinator could not enforce, because of participants or parameters. */
const NOT_ENFORCED: readonly string[] = ["VALIDATION_ERROR", "UNSUPPORTED_PARAMETERS"];

function withoutClaim(federation: Federation): Federation {
  const { claim: _claim, dueAt: _due, waitingFor: _for, waitingUntil: _until, ...rest } = federation;
  return rest;
}

/** Returns what the federation has spent of its privacy, where the round changes it. */
async function abandonRound(tx: Transaction, federation: Federation, now: number): Promise<Pick<Federation, "epsilon" | "spentRounds">> {
  if (isOver(federation.state)) return {};
  const round = await openRoundOf(tx, federation);
  if (!round) return {};
  await returnBudget(tx, { federation, round }, now);
  await tx.put("trainingRounds", { ...round, state: "abandoned", budgetNanoUsd: 0n });
  return abandonedPrivacy(federation, round);
}
