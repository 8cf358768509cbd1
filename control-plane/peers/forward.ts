import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { CallOptions, Channel } from "../../common/grpc/client.ts";
import { isUnsent } from "../../common/grpc/fail-over.ts";
import type { CallContext, Elsewhere, UnansweredCall } from "../../common/grpc/server.ts";
import { orElse } from "../../common/ignore.ts";
import { CONTROL_TOKEN_KEY } from "../../common/peers/control-token.ts";
import { peerOf, peerUri } from "../../common/peers/peer.ts";
import { slotOf } from "../../common/slots.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { Slots } from "../slots/slots.ts";
import { partsOf } from "./split-call.ts";

/**
 * The metadata of a forwarded call: who made it, as its certificate says, or nothing where processes present a token. It is believed only
 * from another control plane.
 */
export const FORWARDED_KEY = "x-forwarded-peer";

/** Longer than the slots of a plane that died have no owner. */
const WAIT_MS = 7_000;
const LOOK_AGAIN_MS = 50;
/** Time that is left for the answer to travel. */
const ANSWER_MS = 50;

export interface ForwardDeps {
  readonly slots: Slots;
  readonly clock: Clock;
  /** Opens a channel to the control plane at an address, on which this one proves itself. */
  readonly open: (address: string) => PlaneChannel;
  /** The name in this control plane's certificate; absent where processes present a token. */
  readonly name?: string | undefined;
}

type PlaneChannel = Pick<Channel, "service" | "close">;

/** A call that the owner of a slot has to answer, in the name of who made it. */
interface OwnersCall extends Omit<UnansweredCall, "authContext"> {
  /** The certificate's name of who made it; empty where processes present a token. */
  readonly from: string;
}

/** Sends a call to the control plane at an address. */
type Send = (address: string, call: Omit<OwnersCall, "here" | "remainingMs">, deadlineMs: number) => Promise<unknown>;

/** A call that this control plane makes itself. `here` answers it if this one owns the slot by now. */
type OwnCall = Pick<OwnersCall, "method" | "request" | "here">;

export interface Forwarder {
  readonly elsewhere: Elsewhere;
  /** Asks the owner of a slot. Throws UNAVAILABLE if it has no owner in time. */
  ask(slot: number, call: OwnCall): Promise<unknown>;
  close(): void;
}

/** Answers calls for slots of others at their owner: one hop, and while the slot has no owner it waits. */
export function createForwarder({ slots, clock, open, name = "" }: ForwardDeps): Forwarder {
  const channels = new Map<string, PlaneChannel>();
  const channelTo = (address: string): PlaneChannel => {
    const channel = channels.get(address) ?? open(address);
    channels.set(address, channel);
    return channel;
  };
  const send: Send = (address, call, deadlineMs) => callAt(channelTo(address), call, deadlineMs);

  const sendOrRun = (slot: number, call: OwnersCall, deadlineMs: number): Promise<unknown> | undefined => {
    if (slots.isOwned(slot)) return call.here(call.request);
    const owner = slots.ownerOf(slot);
    return owner && send(owner.address, call, deadlineMs);
  };

  /** The answer, or the slot that still has to be found. */
  const attempt = async (slot: number, call: OwnersCall, deadlineMs: number): Promise<{ answer: unknown } | { slot: number }> => {
    try {
      const answer = sendOrRun(slot, call, deadlineMs);
      return answer ? { answer: await answer } : { slot };
    } catch (thrown) {
      if (thrown instanceof NotOwner) return { slot: thrown.slot };
      if (isUntouched(thrown)) return { slot };
      throw thrown;
    }
  };

  const answerElsewhere = async (first: number, call: OwnersCall): Promise<unknown> => {
    const endMs = clock.monotonicMs() + Math.min(WAIT_MS, call.remainingMs) - ANSWER_MS;
    for (let slot = first; ; ) {
      const deadlineMs = endMs - clock.monotonicMs();
      if (deadlineMs <= 0 || call.context.signal.aborted) throw new NotOwner(slot);
      const result = await attempt(slot, call, deadlineMs);
      if ("answer" in result) return result.answer;
      slot = result.slot;
      await clock.sleep(LOOK_AGAIN_MS);
      await orElse(slots.look(), undefined, "the owner is looked up again until the time is over");
    }
  };

  const keyOf = (slot: number) => (slots.isOwned(slot) ? slots.self.id : (slots.ownerOf(slot)?.id ?? `slot ${slot}`));

  return {
    elsewhere: (thrown, unanswered) => {
      if (!(thrown instanceof NotOwner)) return undefined;
      const { authContext, ...rest } = unanswered;
      const peer = peerOf(authContext.sslPeerCertificate?.subjectaltname);
      const call: OwnersCall = { ...rest, from: peer === undefined ? "" : peerUri(peer) };
      // One hop: the plane that forwarded it looks for the owner again.
      if (call.context.metadata[FORWARDED_KEY] !== undefined) return Promise.reject(movedOn(thrown));
      const parts = partsOf(call, (organizationId) => keyOf(slotOf(organizationId, slots.count)));
      if (parts === undefined) return answerElsewhere(thrown.slot, call);
      return parts.answer((request, organizationId) => answerElsewhere(slotOf(organizationId, slots.count), { ...call, request }));
    },
    ask: async (slot, call) => {
      const context: CallContext = { metadata: {}, signal: new AbortController().signal, setHeader: () => {} };
      try {
        return await answerElsewhere(slot, { ...call, from: name, context, remainingMs: WAIT_MS });
      } catch (thrown) {
        // Not as NotOwner: that would send the call that asks to this owner too.
        if (!(thrown instanceof NotOwner)) throw thrown;
        throw new AppError("UNAVAILABLE", thrown.message, { internal: thrown.internal, retryAfterSeconds: 1 });
      }
    },
    close: () => {
      for (const channel of channels.values()) channel.close();
    },
  };
}

/** Headers that belong to one connection. */
const OWN_HEADERS: ReadonlySet<string> = new Set([CONTROL_TOKEN_KEY, FORWARDED_KEY, "user-agent", "content-type", "te", "host"]);

async function callAt(
  channel: PlaneChannel,
  { method, request, context, from }: Parameters<Send>[1],
  deadlineMs: number,
): Promise<unknown> {
  const given = Object.entries(context.metadata).filter(([name]) => !OWN_HEADERS.has(name) && !name.startsWith("grpc-"));
  const { call } = channel.service({ call: method }) as unknown as { call(request: unknown, options: CallOptions): Promise<unknown> };
  return call(request, {
    deadlineMs,
    signal: context.signal,
    metadata: { ...Object.fromEntries(given), [FORWARDED_KEY]: from },
    onHeader: (header) => {
      for (const [name, value] of Object.entries(header)) if (!OWN_HEADERS.has(name)) context.setHeader(name, value);
    },
  });
}

const SLOT_PATH = "slot";

/** The error between two planes: the one that was asked does not own the slot and changed nothing. */
function movedOn({ slot, message }: NotOwner): AppError {
  return new AppError("UNAVAILABLE", message, { details: [{ path: SLOT_PATH, message: String(slot) }], retryAfterSeconds: 1 });
}

/** The owner did not begin: it does not own the slot, or cannot be reached. */
function isUntouched(thrown: unknown): boolean {
  const { code, details } = asAppError(thrown);
  return code === "UNAVAILABLE" && (details[0]?.path === SLOT_PATH || isUnsent(thrown));
}
