import { type Clock, pause } from "../../common/clock.ts";
import type { FeedPlace } from "../../common/feed-place.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import { orElse } from "../../common/ignore.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { Change, WatchRequest, WatchResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { placeMessage } from "./place.ts";

/** An open watch stream: the part of grpc-js' stream that is used here. */
export interface WatchStream extends AsyncIterable<WatchResponse> {
  cancel(): void;
}

/** What the watch needs, and where it delivers what it receives. */
export interface WatchDeps {
  open(request: WatchRequest, options: CallOptions): WatchStream;
  /** The control plane is silent: the next stream must use another connection. */
  reconnect(): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly edgeId: string;
  /** Delivers a heartbeat with the changes since the last one. */
  receive(changes: readonly Change[], sign: Pick<WatchResponse, "instance" | "noPrimary" | "owners">): void;
  /**
   * A reader needs exact balances: ship ended calls to the ledger now, all or those of one organization, and return the free part of the
   * recalled organization's lease.
   */
  flush(asked: FlushAsked): void;
  /** Changes were missed: drop all caches and load again. Resolves with the place to watch from. */
  recover(): Promise<FeedPlace>;
}

/** Which calls a reader waits for. */
export interface FlushAsked {
  readonly flush: bigint;
  readonly recall: string | undefined;
  /** Undefined: those of all organizations. */
  readonly organizationId: string | undefined;
}

/** A running watch. */
export interface Watch {
  stop(): Promise<void>;
}

const STREAM_MS = 300_000;
const JITTER_MS = 30_000;
const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 300;
/**
 * The control plane sends a heartbeat each second; one that is busy for three seconds is silent for four. After a longer silence the stream
 * is opened again on another connection, before the mirror expires (`MIRROR_AGE_MS`).
 */
const SILENCE_MS_MAX = 4500;
const LOOK_MS = 250;
/** gRPC statuses that say nothing about our position in the feed: canceled, deadline exceeded, unavailable. */
const HARMLESS_STATUS: readonly unknown[] = [1, 4, 14];

/** Keeps the watch stream open, from the last received place, until it is stopped. */
export function startWatch(after: FeedPlace, deps: WatchDeps): Watch {
  const stopping = new AbortController();
  const running = run(after, { ...deps, signal: stopping.signal });
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

type RunningDeps = WatchDeps & { readonly signal: AbortSignal };

interface Position {
  /** The newest applied changes. Heartbeats do not move it: to apply a change twice is harmless, to miss one is not. */
  place: FeedPlace;
  receivedOnStream: boolean;
}

async function run(after: FeedPlace, deps: RunningDeps): Promise<void> {
  const { clock, logger, signal } = deps;
  const position: Position = { place: after, receivedOnStream: false };
  let delay = BACK_OFF_MS;
  while (!signal.aborted) {
    position.receivedOnStream = false;
    try {
      await listen(position, deps);
    } catch (error) {
      const status = (error as { code?: unknown } | undefined)?.code;
      logger.debug({ status, revision: position.place.total }, "the stream of changes ended");
      if (!position.receivedOnStream && !HARMLESS_STATUS.includes(status)) await recoverInto(position, deps);
    }
    if (position.receivedOnStream) delay = BACK_OFF_MS;
    await pause(clock, delay, signal);
    delay = Math.min(delay * 2, BACK_OFF_MS_MAX);
  }
}

/** One stream, until it ends. */
async function listen(position: Position, deps: RunningDeps): Promise<void> {
  const jitterMs = (deps.random.bytes(2).readUInt16BE() / 65_536) * JITTER_MS;
  const { place } = position;
  const request = { afterRevision: BigInt(place.at(0)), edgeId: deps.edgeId, place: placeMessage(place), withoutChanges: false };
  const stream = deps.open(request, { deadlineMs: STREAM_MS - jitterMs });
  const ended = new AbortController();
  const cancel = () => stream.cancel();
  deps.signal.addEventListener("abort", cancel, { once: true });
  let receivedAtMs = deps.clock.monotonicMs();
  const leave = () => {
    cancel();
    deps.reconnect();
  };
  void leaveWhenSilent(leave, { clock: deps.clock, signal: ended.signal, receivedAtMs: () => receivedAtMs });
  try {
    for await (const message of stream) {
      receivedAtMs = deps.clock.monotonicMs();
      await apply(message, position, deps);
      position.receivedOnStream = true;
    }
  } finally {
    ended.abort();
    deps.signal.removeEventListener("abort", cancel);
  }
}

async function apply(message: WatchResponse, position: Position, deps: RunningDeps): Promise<void> {
  // A control plane that knows fewer changes has lost some: its store was restored to an older state.
  if (message.resync || message.revision < position.place.total) return recoverInto(position, deps);
  const { flush, recall, flushOrganization } = message;
  if (flush !== undefined) deps.flush({ flush, recall, organizationId: flushOrganization });
  deps.receive(message.changes, message);
  // Without a primary the newest changes may be rolled back, and others get their numbers.
  if (!message.noPrimary) for (const { revision } of message.changes) position.place.advance(Number(revision));
}

async function recoverInto(position: Position, deps: RunningDeps): Promise<void> {
  deps.logger.warn({ revision: position.place.total }, "changes were missed; every cached answer is dropped");
  position.place = await orElse(deps.recover(), position.place, "it fails only when the edge stops");
}

async function leaveWhenSilent(
  leave: () => void,
  { clock, signal, receivedAtMs }: { clock: Clock; signal: AbortSignal; receivedAtMs: () => number },
): Promise<void> {
  const leftMs = () => receivedAtMs() + SILENCE_MS_MAX - LOOK_MS - clock.monotonicMs();
  while (!signal.aborted) {
    await pause(clock, Math.max(leftMs(), 0), signal);
    if (leftMs() > 0) continue;
    // Looked at twice: this process itself may have been busy, and has read nothing meanwhile.
    await pause(clock, LOOK_MS, signal);
    if (!signal.aborted && leftMs() <= 0) return leave();
  }
}
