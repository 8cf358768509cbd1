import { AppError } from "../../common/errors.ts";
import { isOver } from "../domain/federation-state.ts";
import type { Federation, FederationParticipant } from "../domain/training-records.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { extendFederation, openRoundOf, putFederation } from "./federations.ts";

// Federations as participants of others (decision 45). The inner federation has a place in one outer federation, which lets it train by
// adding rounds that begin with the outer parameters.

/** Most federations around one that are looked at. */
const DEPTH_MAX = 32;

/** Gives the inner federations their places in a new federation. Only federations at rest have one place, in one federation that goes on. */
export async function enrollInner(
  tx: Transaction,
  { outerId, organizationId, participants }: { outerId: string; organizationId: string; participants: readonly FederationParticipant[] },
  now: number,
): Promise<void> {
  for (const [index, { id: participantId, inner }] of participants.entries()) {
    if (!inner) continue;
    const found = await tx.get("federations", inner.federationId);
    const problem = found?.organizationId === organizationId ? await placeProblem(tx, found) : "is not a federation of the organization";
    if (!found || problem !== undefined) throw invalidInner(index, problem ?? "");
    const event = { type: "federation.enrolled", data: { outer: outerId, participantId } };
    await putFederation(tx, { ...found, outer: { federationId: outerId, participantId, round: 0, parameters: "" } }, [event], now);
  }
}

/** The error for a federation that cannot be this participant. */
export function invalidInner(index: number, message: string): AppError {
  const path = `body.participants.${index}.federation`;
  return new AppError("VALIDATION_ERROR", `The request is not valid: ${path}: ${message}.`, { details: [{ path, message }] });
}

async function placeProblem(reader: Reader, federation: Federation): Promise<string | undefined> {
  if (!isOver(federation.state) || federation.state === "stopped")
    return `is ${federation.state}, and must have completed: create it with waits: true, or wait for its end`;
  const outer = await goingOuter(reader, federation);
  return outer && `is a participant of ${outer.id} already, which goes on`;
}

/** The federation without its place in an outer one, for rounds that its owner adds. Throws RECORD_CHANGED while the outer one goes on. */
export async function withoutPlace(reader: Reader, federation: Federation): Promise<Federation> {
  const going = await goingOuter(reader, federation);
  if (going) throw new AppError("RECORD_CHANGED", `The federation is a participant of ${going.id}, which adds its rounds until it ends.`);
  const { outer: _outer, ...rest } = federation;
  return rest;
}

/**
 * The outer federation if it goes on: by itself, or because one around it does, which completes it after each of its own rounds and adds
 * more. One that was stopped gets no more.
 */
async function goingOuter(reader: Reader, { outer }: Federation, depth = 0): Promise<Federation | undefined> {
  if (!outer || depth >= DEPTH_MAX) return undefined;
  const found = await reader.get("federations", outer.federationId);
  if (!found || found.state === "stopped") return undefined;
  return !isOver(found.state) || (await goingOuter(reader, found, depth + 1)) ? found : undefined;
}

/** The outer federation in its open round, and the inner federation of one of its participants. */
export async function requireInner(
  reader: Reader,
  { federationId, participantId, round }: { federationId: string; participantId: string; round: number },
): Promise<{ outer: Federation; inner: NonNullable<FederationParticipant["inner"]> }> {
  const outer = await reader.get("federations", federationId);
  const inner = outer?.participants.find(({ id }) => id === participantId)?.inner;
  if (!outer || !inner) throw new AppError("NOT_FOUND", "There is no such participant with a federation.");
  // A coordinator that lost its claim must not start more rounds.
  if ((await openRoundOf(reader, outer))?.round !== round) throw new AppError("RECORD_CHANGED", `Round ${round} is not open.`);
  return { outer, inner };
}

/**
 * Adds the rounds of an inner federation for one round of the outer one, which begin with the outer parameters, or with its own while the
 * outer federation has none. A repeated call adds nothing, unless the rounds failed or began with other parameters.
 */
export async function runInnerRounds(
  tx: Transaction,
  given: { outer: Federation; participantId: string; round: number; parameters: string; federationId: string; rounds: number },
  now: number,
): Promise<void> {
  const { outer, participantId, round, parameters, federationId, rounds } = given;
  const inner = await tx.get("federations", federationId);
  const place = inner?.outer;
  if (!inner || place?.federationId !== outer.id || place.participantId !== participantId)
    throw new AppError("NOT_FOUND", `${federationId} is not a participant of this federation any more.`);
  // The outer federation opens the same round again when it is extended after it failed, with other parameters if those around it went on.
  const isRepeated = place.round === round && place.parameters === parameters && inner.state !== "failed";
  if (place.round > round || isRepeated) return;
  if (inner.state === "stopped") throw new AppError("VALIDATION_ERROR", `${federationId} was stopped and trains no more.`);
  if (!isOver(inner.state)) throw new AppError("RECORD_CHANGED", `${federationId} is ${inner.state} and still has rounds to run.`);
  await extendFederation(tx, { federation: { ...inner, outer: { ...place, round, parameters } }, rounds }, now);
}
