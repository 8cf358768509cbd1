import { hash } from "node:crypto";
import { canonicalJson } from "../../../common/json.ts";
import { type RoundRecord, sortedUpdates } from "../../../common/training/round-record.ts";
import type { RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { fixedPointFor } from "../../compute/privacy/fixed-point.ts";
import { type HelpText, readHelp, readIntroduction } from "../../privacy/wire.ts";
import { type CoordinatorDeps, FederationFailed, type FederationRun, requireSecure } from "../deps.ts";
import { notEnough } from "../not-enough.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { isPlainMean } from "../round-strategy.ts";
import { askAll } from "./in-time.ts";
import { findPlan, type SecurePlan } from "./plan.ts";
import { sumProblem, weightMaxOf } from "./sum-weights.ts";

/**
 * Everything that is needed to recompute a secure round, stored as a blob that the round's record names. It reveals no more than the
 * coordinator saw.
 */
interface SecureProof extends Pick<SecurePlan, "round" | "everybody" | "threshold" | "range" | "layout"> {
  /** By participant: the hash and the weight of its masked update. */
  readonly masked: Readonly<Record<string, { readonly hash: string; readonly weight: number }>>;
  readonly weightMax: number;
  readonly help: readonly HelpText[];
}

/** The mean of updates that were not read individually. */
export interface UnmaskedSum {
  readonly updates: RoundRecord["updates"];
  readonly mean: Uint8Array;
  /** The hash of the proof, which is part of the recorded strategy. */
  readonly secure: { readonly proof: string };
}

/** Unmasks the sum, and nothing else, with the help of the remaining participants. */
export async function unmaskSum(run: FederationRun, round: number, accepted: readonly RoundParticipant[]): Promise<UnmaskedSum> {
  const { deps } = run;
  const plan = await findPlan(run, { round, accepted: accepted.length });
  if (!plan)
    throw new FederationFailed(
      "AGGREGATION_FAILED",
      `The plan of the secure round ${round} is missing from the coordinator's folder, so its updates cannot be unmasked.`,
    );
  const participants = plan.everybody.map(({ id }) => ({ participantId: id }));
  if (accepted.length < plan.threshold) {
    const text = `${accepted.length} masked updates; ${plan.threshold} of its ${participants.length} participants must take part until the end.`;
    throw await notEnough(run, { round, participants }, text);
  }
  const masked = Object.fromEntries(
    accepted.map(({ participantId: id, updateBlob }) => [id, { hash: updateBlob, weight: plan.weights[id] ?? 1 }]),
  );
  const problem = sumProblem(plan, Object.keys(masked));
  if (problem !== undefined) throw await notEnough(run, { round, participants }, problem);
  const { everybody, threshold, range, layout } = plan;
  const help = await askForHelp(run, plan, Object.keys(masked));
  const weightMax = weightMaxOf(plan.weights);
  const proof: SecureProof = { round: plan.round, everybody, threshold, range, layout, masked, weightMax, help };
  const { sha256 } = await deps.blobs.keepBytes(Buffer.from(canonicalJson(proof)));
  const mean = await unmaskedMean(deps, proof, run.signal);
  return { updates: sortedUpdates(Object.values(masked)), mean, secure: { proof: sha256 } };
}

/** Recomputes the bytes of a secure round's result from its record. */
export async function remakeMasked(deps: SecureDeps, record: RoundRecord, signal: AbortSignal): Promise<Uint8Array> {
  const { strategy } = record;
  const proof = JSON.parse((await deps.blobs.read(proofOf(record))).toString("utf8")) as SecureProof;
  if (canonicalJson(sortedUpdates(Object.values(proof.masked))) !== canonicalJson(record.updates))
    throw new Error("the proof does not match the updates of the record");
  const mean = await unmaskedMean(deps, proof, signal);
  const { secure: _proof, ...applied } = strategy;
  if (isPlainMean(applied)) return mean;
  const { sha256: digest } = await deps.blobs.keepBytes(mean);
  const input = {
    updates: [{ hash: digest, weight: 1, id: "mean" }],
    strategy: applied,
    base: record.base ?? "",
    state: record.state ?? "",
  };
  return (await deps.aggregation.run(input, signal)).parameters;
}

/** The hash of a secure round's proof; "" for other rounds. */
export function proofOf({ strategy }: Pick<RoundRecord, "strategy">): string {
  const { proof } = Object(strategy["secure"]) as { proof?: unknown };
  return typeof proof === "string" ? proof : "";
}

type SecureDeps = Pick<CoordinatorDeps, "aggregation" | "blobs" | "secure">;

async function unmaskedMean({ secure }: SecureDeps, proof: SecureProof, signal: AbortSignal): Promise<Uint8Array> {
  if (!secure) throw new Error("this coordinator does not support secure aggregation");
  const { everybody, threshold, range, layout, masked, weightMax, help, round } = proof;
  return secure.unmask(
    {
      step: "unmask",
      unmasking: { round, everybody: everybody.map(readIntroduction), help: help.map(readHelp), threshold },
      masked: Object.fromEntries(Object.entries(masked).map(([id, { hash: digest }]) => [id, digest])),
      fixed: fixedPointFor({ clients: everybody.length, limit: range }),
      layout,
      divisor: totalWeight(masked) / weightMax,
    },
    signal,
  );
}

const totalWeight = (masked: SecureProof["masked"]): number => Object.values(masked).reduce((sum, { weight }) => sum + weight, 0);

async function askForHelp(run: FederationRun, plan: SecurePlan, inSum: readonly string[]): Promise<HelpText[]> {
  const { round, threshold, partners, shares } = plan;
  const help: HelpText[] = [];
  const problems: string[] = [];
  await askAll(
    run,
    run.members.filter(({ id }) => inSum.includes(id)),
    {
      ask: (participant, signal) => {
        const received = partners.map((from) => [from, shares[from]?.[participant.id] ?? ""]);
        const asked = { inSum, shares: Object.fromEntries(received) as Record<string, string> };
        return requireSecure(run).participants.help(participant, { round, client: participant.id }, asked, signal);
      },
      settle: ({ id }, result) => {
        if (result instanceof ParticipantProblem) problems.push(`${id}: ${result.message}`);
        else help.push(result);
      },
      isEnough: () => help.length >= threshold,
    },
  );
  if (help.length >= threshold) return help.slice(0, threshold).sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
  const text = `Only ${help.length} of the required ${threshold} participants helped to unmask the sum. ${problems.join("; ")}`;
  throw new FederationFailed("NOT_ENOUGH_RESULTS", text.slice(0, 1000));
}

const keyOf = (help: HelpText): string => hash("sha256", canonicalJson(help), "hex");
