import { hash } from "node:crypto";
import type { Clock } from "../../../common/clock.ts";
import type { Capability } from "../../../common/training/capabilities.ts";
import { readMetrics } from "../../../common/training/metrics.ts";
import type { Properties } from "../../../common/training/selection-settings.ts";
import type { Federation, Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { MadeOrigin } from "../../blobs/blob-owners.ts";
import { innerAddress, isInnerAddress } from "./inner-federations.ts";
import type { NodeAddress } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import {
  type Evaluation,
  type Participants,
  type ParticipantTask,
  readEvaluation,
  readSamples,
  type TrainedUpdate,
} from "./participants.ts";
import { createPresence } from "./presence.ts";

/** A task for a joined participant. It fetches parameters by their hash. */
export interface JoinedTask {
  readonly id: string;
  readonly operation: "train" | "evaluate";
  /** SHA-256 of the parameters; null for a new model. */
  readonly parameters: string | null;
  readonly dataset: unknown;
  readonly config: Readonly<Record<string, unknown>>;
  readonly round_id: string;
  readonly client_id: string;
}

/** The result of a joined participant: the fields of its answer and, for training, the update as a blob. */
export interface JoinedResult {
  readonly blob: { readonly sha256: string; readonly bytes: number } | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the upload of a result is for. */
export interface AwaitedResult {
  readonly task: JoinedTask;
  /** Whether the organization of the federation may read the result. */
  readonly origin: MadeOrigin;
  /** Aborts when the task ends, or its result is uploaded again: a participant has one upload of a task at a time. */
  readonly signal: AbortSignal;
}

/** A joined participant's request for work. */
export interface JoinedAsk {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** The capabilities that the participant declares. */
  readonly capabilities: ReadonlySet<Capability>;
  /** What it says about itself. */
  readonly properties?: Properties | undefined;
}

/** A queue of work for participants that cannot be called: they ask for tasks and send results. */
export interface JoinedWork {
  readonly participants: Participants;
  /** The oldest task of a participant, as soon as there is one; undefined if none came within `waitMs`. */
  next(place: string, asked: JoinedAsk): Promise<JoinedTask | undefined>;
  /** Whether a task that waits for the participant's result names these parameters. */
  names(place: string, sha256: string): boolean;
  /** The task whose result is about to be uploaded; undefined if nothing waits for it. An earlier upload of the same result ends. */
  awaited(place: string, taskId: string): AwaitedResult | undefined;
  /** Notes how much of a task is done, from 0 to 1. False if the result is no longer needed. */
  progress(place: string, taskId: string, fraction: number): boolean;
  /** False if the result is no longer needed. */
  finish(place: string, taskId: string, result: JoinedResult): boolean;
}

const SCHEME = "join:";

/** The pseudo-address of a participant that joins with a token. */
const joinAddress = (federationId: string, participantId: string): string => `${SCHEME}${federationId}/${participantId}`;
/** Whether an address is the pseudo-address of a joined participant. */
export const isJoinAddress = (url: string): boolean => url.startsWith(SCHEME);

/** The participants of a federation with their addresses. One that joins with a token, or is a federation, gets a pseudo-address. */
export function membersOf({ id, participants }: Federation): Participant[] {
  return participants.map((one) => {
    if (one.inner) return { ...one, url: innerAddress(one.inner.federationId) };
    return one.url === "" ? { ...one, url: joinAddress(id, one.id) } : one;
  });
}

interface Pending {
  readonly task: JoinedTask;
  readonly origin: MadeOrigin;
  readonly onProgress: ParticipantTask["onProgress"];
  upload: AbortController;
  resolve(result: JoinedResult): void;
}

/** Creates the queue, in memory. */
export function createJoinedWork({ clock }: { clock: Clock }): JoinedWork {
  const pending = new Map<string, Pending[]>();
  const declared = new Map<string, Pick<JoinedAsk, "capabilities" | "properties">>();
  const wakers = new Map<string, () => void>();
  const presence = createPresence(clock);
  const placeOf = ({ url }: NodeAddress) => url.slice(SCHEME.length);
  const ask = async (
    node: NodeAddress,
    operation: JoinedTask["operation"],
    task: ParticipantTask,
    signal: AbortSignal,
  ): Promise<JoinedResult> => {
    signal.throwIfAborted();
    const place = placeOf(node);
    const { promise, resolve, reject } = Promise.withResolvers<JoinedResult>();
    const { origin = "made", onProgress } = task;
    const entry: Pending = { task: joinedTask(operation, task), origin, onProgress, upload: new AbortController(), resolve };
    pending.set(place, [...(pending.get(place) ?? []), entry]);
    wakers.get(place)?.();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", stop);
      const others = (pending.get(place) ?? []).filter((other) => other !== entry);
      pending.set(place, others);
      entry.upload.abort();
    }
  };
  const find = (place: string, taskId: string) => pending.get(place)?.find(({ task }) => task.id === taskId);
  return {
    next: async (place, { waitMs, signal, capabilities, properties }) => {
      declared.set(place, { capabilities, properties });
      const untilMs = clock.monotonicMs() + waitMs;
      const stopAsking = presence.ask(place);
      for (;;) {
        presence.see(place);
        const first = pending.get(place)?.[0];
        const leftMs = untilMs - clock.monotonicMs();
        if (first || leftMs <= 0 || signal.aborted) {
          stopAsking({ hungUp: signal.aborted });
          return first?.task;
        }
        await waitFor(clock, { leftMs, signal, wakers, place });
      }
    },
    names: (place, sha256) => pending.get(place)?.some(({ task }) => task.parameters === sha256) ?? false,
    awaited: (place, taskId) => {
      presence.see(place);
      return beginUpload(find(place, taskId));
    },
    progress: (place, taskId, fraction) => {
      const found = find(place, taskId);
      found?.onProgress?.(fraction);
      presence.see(place);
      return found !== undefined;
    },
    finish: (place, taskId, result) => {
      const found = find(place, taskId);
      found?.resolve(result);
      presence.see(place);
      return found !== undefined;
    },
    participants: {
      reach: async (node) => {
        presence.requireSeen(placeOf(node));
        return "octets";
      },
      capabilities: async (node) => {
        presence.requireSeen(placeOf(node));
        return declared.get(placeOf(node))?.capabilities ?? new Set();
      },
      properties: async (node) => {
        presence.requireSeen(placeOf(node));
        return declared.get(placeOf(node))?.properties ?? {};
      },
      isPresent: (node) => presence.has(placeOf(node)),
      train: async (node, task, signal) => readTrained(await ask(node, "train", task, signal)),
      evaluate: async (node, task, signal) => readEvaluated(await ask(node, "evaluate", task, signal)),
      aggregate: async () => {
        throw new ParticipantProblem("it joined with a token, and such participants cannot aggregate", { again: false });
      },
    },
  };
}

function beginUpload(found: Pending | undefined): AwaitedResult | undefined {
  if (!found) return undefined;
  found.upload.abort();
  found.upload = new AbortController();
  return { task: found.task, origin: found.origin, signal: found.upload.signal };
}

function joinedTask(operation: JoinedTask["operation"], task: ParticipantTask): JoinedTask {
  const { parameters, dataset, config, roundId, clientId, key } = task;
  // The key of a training names its parameters. A round with central noise that is repeated after a restart has another result to evaluate.
  const named = operation === "evaluate" ? `${key} ${parameters}` : key;
  return {
    // A task has the same id after a restart, so that a result made meanwhile is still accepted.
    id: hash("sha256", `${operation} ${named}`, "hex").slice(0, 32),
    operation,
    parameters: parameters === "" ? null : parameters,
    dataset: dataset ?? null,
    config,
    round_id: roundId,
    client_id: clientId,
  };
}

/** Selects how each participant is reached: by its address, through the queue of joined participants, or as a federation. */
export function eitherWay({ called, joined, inner }: Record<"called" | "joined" | "inner", Participants>): Participants {
  const of = ({ url }: NodeAddress) => (isJoinAddress(url) ? joined : isInnerAddress(url) ? inner : called);
  return {
    reach: (node, signal) => of(node).reach(node, signal),
    capabilities: (node, signal) => of(node).capabilities(node, signal),
    properties: async (node, signal) => (await of(node).properties?.(node, signal)) ?? {},
    isPresent: (node) => of(node).isPresent?.(node),
    train: (node, task, signal) => of(node).train(node, task, signal),
    closeRound: async (node, roundId, signal) => of(node).closeRound?.(node, roundId, signal),
    evaluate: (node, task, signal) => of(node).evaluate(node, task, signal),
    aggregate: (node, blobs, signal) => of(node).aggregate(node, blobs, signal),
  };
}

async function waitFor(
  clock: Clock,
  { leftMs, signal, wakers, place }: { leftMs: number; signal: AbortSignal; wakers: Map<string, () => void>; place: string },
): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = clock.after(leftMs, resolve);
    const wake = () => {
      stop();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    wakers.set(place, wake);
    signal.addEventListener("abort", wake, { once: true });
  });
}

function readTrained({ blob, fields }: JoinedResult): TrainedUpdate {
  refuseFailure(fields);
  if (!blob || blob.bytes === 0) throw new ParticipantProblem("its answer has no parameters", { again: false });
  const metrics = readMetrics(fields["metrics"]);
  return { blob: blob.sha256, bytes: blob.bytes, samples: readSamples(fields["num_samples"]), metrics };
}

function readEvaluated({ fields }: JoinedResult): Evaluation {
  refuseFailure(fields);
  return readEvaluation(fields);
}

function refuseFailure({ error }: JoinedResult["fields"]): void {
  if (typeof error === "string") throw new ParticipantProblem(`it failed: ${error.slice(0, 500)}`, { again: false });
}
