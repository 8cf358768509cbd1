import type { Clock } from "../../common/clock.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { Change, WatchRequest, WatchResponse } from "../../proto/gen/tributary/access/v1/access.ts";

/** The open stream; what grpc-js gives has exactly this. */
export interface WatchStream extends AsyncIterable<WatchResponse> {
  cancel(): void;
}

export interface WatchDeps {
  open(request: WatchRequest, options: CallOptions): WatchStream;
  /** The control plane is silent: the next stream is to be opened on another connection. */
  reconnect(): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly edgeId: string;
  /** A sign of life of a control plane, with what has changed. */
  hear(changes: readonly Change[], sign: Pick<WatchResponse, "instance" | "noPrimary">): void;
  /** Somebody reads money: what has ended is to be brought to the ledger, and what is free of a recalled organisation's lease given back. */
  flush(flush: bigint, recall: string | undefined): void;
  /** Changes were missed: forget everything, learn anew. Resolves with the revision from which to listen. */
  recover(): Promise<bigint>;
}

export interface Watch {
  stop(): Promise<void>;
}

const STREAM_MS = 300_000;
const JITTER_MS = 30_000;
const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 300;
/**
 * The control plane speaks every second. One that is busy for three seconds is silent for four; a stream mute for longer is opened anew,
 * on another connection, before what the edge knows is too old to be believed (`MIRROR_AGE_MS`).
 */
const SILENCE_MS_MAX = 4500;
const LOOK_MS = 250;
/** Ends of a stream that say nothing about our place in the feed: cancelled, deadline exceeded, unavailable. */
const HARMLESS_STATUS: readonly unknown[] = [1, 4, 14];

/** Keeps the stream of changes open, from the last revision heard, until stopped. */
export function startWatch(afterRevision: bigint, deps: WatchDeps): Watch {
  const stopping = new AbortController();
  const running = run(afterRevision, { ...deps, signal: stopping.signal });
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

type RunningDeps = WatchDeps & { readonly signal: AbortSignal };

interface Place {
  /** The newest change applied. Heartbeats do not move it: to hear a change twice is harmless, to miss one is not. */
  revision: bigint;
  heardOnThisStream: boolean;
}

async function run(afterRevision: bigint, deps: RunningDeps): Promise<void> {
  const { clock, logger, signal } = deps;
  const place: Place = { revision: afterRevision, heardOnThisStream: false };
  let delay = BACK_OFF_MS;
  while (!signal.aborted) {
    place.heardOnThisStream = false;
    try {
      await listen(place, deps);
    } catch (error) {
      const status = (error as { code?: unknown } | undefined)?.code;
      logger.debug({ status, revision: place.revision.toString() }, "the stream of changes ended");
      if (!place.heardOnThisStream && !HARMLESS_STATUS.includes(status)) await recoverInto(place, deps);
    }
    if (place.heardOnThisStream) delay = BACK_OFF_MS;
    await clock.sleep(delay, signal).catch(() => {});
    delay = Math.min(delay * 2, BACK_OFF_MS_MAX);
  }
}

/** One stream, until it ends. */
async function listen(place: Place, deps: RunningDeps): Promise<void> {
  const jitterMs = (deps.random.bytes(2).readUInt16BE() / 65_536) * JITTER_MS;
  const stream = deps.open({ afterRevision: place.revision, edgeId: deps.edgeId }, { deadlineMs: STREAM_MS - jitterMs });
  const ended = new AbortController();
  const cancel = () => stream.cancel();
  deps.signal.addEventListener("abort", cancel, { once: true });
  let heardAtMs = deps.clock.monotonicMs();
  const leave = () => {
    cancel();
    deps.reconnect();
  };
  void leaveWhenMute(leave, { clock: deps.clock, signal: ended.signal, heardAtMs: () => heardAtMs });
  try {
    for await (const message of stream) {
      heardAtMs = deps.clock.monotonicMs();
      await apply(message, place, deps);
      place.heardOnThisStream = true;
    }
  } finally {
    ended.abort();
    deps.signal.removeEventListener("abort", cancel);
  }
}

async function apply(message: WatchResponse, place: Place, deps: RunningDeps): Promise<void> {
  // A control plane behind us has lost what we heard: its store was put back to an older state.
  if (message.resync || message.revision < place.revision) return recoverInto(place, deps);
  if (message.flush !== undefined) deps.flush(message.flush, message.recall);
  deps.hear(message.changes, message);
  for (const { revision } of message.changes) if (revision > place.revision) place.revision = revision;
}

async function recoverInto(place: Place, deps: RunningDeps): Promise<void> {
  deps.logger.warn({ revision: place.revision.toString() }, "changes were missed; every cached answer is dropped");
  // Fails only while stopping.
  place.revision = await deps.recover().catch(() => place.revision);
}

async function leaveWhenMute(
  leave: () => void,
  { clock, signal, heardAtMs }: { clock: Clock; signal: AbortSignal; heardAtMs: () => number },
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => {});
    if (!signal.aborted && clock.monotonicMs() - heardAtMs() >= SILENCE_MS_MAX) return leave();
  }
}
