import type { WebSocket } from "ws";
import { abortSignalOf } from "../../../common/cancel.ts";
import { type Clock, pause } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asFields, asText } from "../../upstream/providers/shared/json-fields.ts";
import { gatewayErrorBody, gatewayErrorStatus } from "../gateway-error.ts";
import type { Outcome } from "../inference/bill.ts";
import { type OpenCall, ShutdownError } from "../open-calls.ts";
import { checkedUpdate, readClientEvent } from "./client-event.ts";
import { readRealtimeUsage } from "./realtime-usage.ts";
import { Inbound, sendOn } from "./relay.ts";
import type { Transcriptions } from "./transcriptions.ts";
import type { Turns } from "./turns.ts";

export interface SessionParts {
  readonly client: WebSocket;
  readonly upstream: WebSocket;
  readonly model: string;
  readonly turns: Turns;
  readonly transcriptions: Transcriptions;
  readonly clock: Clock;
  readonly openCall: OpenCall;
  /** Aborted when the edge begins to stop. */
  readonly stopping: AbortSignal;
  readonly limits: { readonly idleMs: number; readonly totalMs: number };
}

/** How a session ends, for the client and for responses that are still running. */
interface Ending {
  readonly code: number;
  readonly reason: string;
  /** Sent as an `error` event before the close. */
  readonly error?: AppError;
  readonly outcome: Outcome;
}

/** How long running responses and transcripts of an ended session have to report their usage, and a peer to close. */
const GRACE_MS = 3000;
const [NORMAL, GOING_AWAY, POLICY, FAILED] = [1000, 1001, 1008, 1011];
const AUDIO_DELTA = /^response\.(?:output_)?audio\.delta$/;
const DELTA = /^response\..*\.delta$/;

/** A realtime session: events pass both ways unchanged, and every response is metered, billed and covered by credit. */
export class RealtimeSession {
  readonly #parts: SessionParts;
  /** Ends the listening to signals that live longer than the session. */
  readonly #listening = new AbortController();
  #cancelTotal = () => {};
  #cancelIdle = () => {};
  #ending: Ending | undefined;
  /** Notified when a response or a transcript is settled while the session ends. */
  #onSettled = () => {};
  #activeMs: number;
  readonly #over = Promise.withResolvers<void>();
  /** The client sent events while a response ran, which may start the next one. */
  #isMoreSent = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#activeMs = parts.clock.monotonicMs();
  }

  /** Resolves when the session is over and settled. */
  run(): Promise<void> {
    const { client, upstream, openCall, stopping, limits, clock } = this.#parts;
    const onFailure = (thrown: unknown) => this.#fail(asAppError(thrown));
    new Inbound(client, { handle: (text) => this.#fromClient(text), onFailure });
    new Inbound(upstream, { handle: (text) => this.#fromUpstream(text), onFailure });
    client.on("close", () => this.#end({ code: NORMAL, reason: "", outcome: { status: "cancelled" } }));
    client.on("error", closesItself);
    upstream.on("close", (code) => this.#upstreamClosed(code));
    const { signal } = this.#listening;
    abortSignalOf(openCall.signal).addEventListener("abort", () => this.#fail(new ShutdownError(), GOING_AWAY), { signal });
    stopping.addEventListener("abort", () => this.#endIfStopping(), { signal });
    this.#cancelTotal = clock.after(limits.totalMs, () => this.#tooLong("The session has reached its maximum length."));
    this.#watchIdle(limits.idleMs);
    upstream.resume();
    this.#endIfStopping();
    return this.#over.promise;
  }

  #fromClient(text: string): Promise<void> | undefined {
    if (this.#ending) return undefined;
    this.#activeMs = this.#parts.clock.monotonicMs();
    this.#isMoreSent = true;
    try {
      const event = readClientEvent(text);
      const prepared = this.#parts.turns.prepare({ isRequest: event.type === "response.create" });
      if (event.type !== "session.update")
        return prepared ? this.#afterwards(prepared, text, event.id) : sendOn(this.#parts.upstream, text);
      return (prepared ?? Promise.resolve()).then(
        () => this.#update(event),
        (thrown: unknown) => this.#refuse(thrown, event.id),
      );
    } catch (thrown) {
      return this.#tell(asAppError(thrown));
    }
  }

  async #afterwards(prepared: Promise<void>, text: string, eventId: string | undefined): Promise<void> {
    try {
      await prepared;
    } catch (thrown) {
      return this.#refuse(thrown, eventId);
    }
    await sendOn(this.#parts.upstream, text);
  }

  async #update(event: ReturnType<typeof readClientEvent>): Promise<void> {
    const { model, transcriptions, upstream } = this.#parts;
    try {
      await sendOn(upstream, await checkedUpdate(event, { model, transcription: (name) => transcriptions.choose(name) }));
    } catch (thrown) {
      await this.#tell(asAppError(thrown), event.id);
    }
  }

  /** An event that credit or limits do not allow. A running response goes on, and so does a session that only has to wait. */
  #refuse(thrown: unknown, eventId: string | undefined): Promise<void> | undefined {
    const error = asAppError(thrown);
    const goesOn = this.#parts.turns.isAnswering || error.code === "RATE_LIMIT_EXCEEDED";
    if (goesOn) return this.#tell(error, eventId);
    this.#fail(error);
    return undefined;
  }

  #fromUpstream(text: string): Promise<void> | undefined {
    this.#activeMs = this.#parts.clock.monotonicMs();
    const event = fieldsOf(text);
    const type = asText(event["type"]) ?? "";
    if (DELTA.test(type)) return this.#deltaArrived(type, event, text);
    if (type === "response.created") {
      this.#isMoreSent = false;
      return this.#parts.turns.began(responseOf(event).id).then(() => this.#toClient(text));
    }
    if (type === "response.done") return this.#responseDone(event, text);
    if (type === "error") this.#parts.turns.refused();
    const transcript = this.#parts.transcriptions.reported(type, event);
    return transcript ? this.#transcribed(transcript, text) : this.#toClient(text);
  }

  async #transcribed(transcript: Promise<AppError | undefined>, text: string): Promise<void> {
    const uncovered = await transcript;
    await this.#toClient(text);
    this.#onSettled();
    if (uncovered) await this.#refuse(uncovered, undefined);
  }

  #deltaArrived(type: string, event: Fields, text: string): Promise<void> | undefined {
    const delta = asText(event["delta"]) ?? "";
    const part = AUDIO_DELTA.test(type) ? { text: "", audioBytes: Math.floor((delta.length * 3) / 4) } : { text: delta, audioBytes: 0 };
    const covered = this.#parts.turns.delivered(asText(event["response_id"]) ?? "", part);
    if (covered === true) return this.#toClient(text);
    return Promise.resolve(covered).then((isCovered) => {
      if (isCovered) return this.#toClient(text);
      this.#fail(new AppError("QUOTA_EXCEEDED", "The credits of the organization are used up. Add credits to go on."));
      return undefined;
    });
  }

  /** Settled before the client sees it: a response whose end the client saw is billed, whatever process dies. */
  async #responseDone(event: Fields, text: string): Promise<void> {
    const { id, status } = responseOf(event);
    const usage = readRealtimeUsage(asFields(event["response"])["usage"]);
    await this.#parts.turns.done(id, { outcome: this.#ending?.outcome ?? outcomeOf(status), usage });
    await this.#toClient(text);
    this.#onSettled();
    this.#endIfStopping();
    if (this.#isMoreSent && !this.#ending)
      await this.#parts.turns.prepare({ isRequest: false })?.catch((thrown) => this.#refuse(thrown, undefined));
  }

  #toClient(text: string): Promise<void> | undefined {
    return this.#ending ? undefined : sendOn(this.#parts.client, text);
  }

  #tell(error: AppError, eventId?: string): Promise<void> | undefined {
    return this.#toClient(errorEvent(error, eventId));
  }

  #fail(error: AppError, code = codeOf(error)): void {
    const isCredit = error.code === "QUOTA_EXCEEDED";
    const outcome: Outcome = isCredit
      ? { status: "success", isCutShort: true }
      : { status: "error", error, httpStatus: gatewayErrorStatus(error) };
    this.#end({ code, reason: error.code, error, outcome });
  }

  #upstreamClosed(code: number): void {
    const isWhole = code === NORMAL && !this.#parts.turns.isAnswering;
    if (isWhole) this.#end({ code: NORMAL, reason: "", outcome: { status: "cancelled" } });
    else this.#fail(new AppError("UPSTREAM_UNAVAILABLE", "The provider ended the session.", { internal: `close code ${code}` }), FAILED);
  }

  #tooLong(message: string): void {
    this.#end({ code: POLICY, reason: "limit", error: new AppError("INVALID_REQUEST", message), outcome: { status: "cancelled" } });
  }

  /** A stopping edge lets running responses finish, and ends the session then. */
  #endIfStopping(): void {
    if (this.#parts.stopping.aborted && !this.#parts.turns.isAnswering) this.#fail(new ShutdownError(), GOING_AWAY);
  }

  /** A peer that reads nothing makes no progress either, because the other side is then not read. */
  #watchIdle(afterMs: number): void {
    const { clock, limits } = this.#parts;
    this.#cancelIdle = clock.after(Math.ceil(afterMs), () => {
      const idleMs = clock.monotonicMs() - this.#activeMs;
      if (idleMs >= limits.idleMs) this.#tooLong("The session was idle for too long.");
      else this.#watchIdle(limits.idleMs - idleMs);
    });
  }

  #end(ending: Ending): void {
    if (this.#ending) return;
    const { client } = this.#parts;
    if (ending.error) void this.#tell(ending.error);
    this.#ending = ending;
    this.#cancelTotal();
    this.#cancelIdle();
    this.#listening.abort();
    client.close(ending.code, ending.reason);
    this.#finish(ending).then(this.#over.resolve, this.#over.reject);
  }

  /** Running responses are cancelled at the provider, which then reports what they used; transcripts end on their own. */
  async #finish({ outcome }: Ending): Promise<void> {
    const { client, upstream, turns, transcriptions, openCall, clock } = this.#parts;
    const isCut = openCall.signal.aborted;
    const forced = new AbortController();
    const force = () => forced.abort();
    const isBusy = () => turns.isAnswering || transcriptions.isMaking;
    if (isBusy() && upstream.readyState === upstream.OPEN && !isCut) {
      for (const id of turns.activeIds) upstream.send(JSON.stringify({ type: "response.cancel", response_id: id }));
      openCall.signal.addEventListener("abort", force);
      upstream.once("close", force);
      this.#onSettled = () => isBusy() || force();
      await pause(clock, GRACE_MS, forced.signal);
    }
    try {
      await turns.end(outcome);
    } finally {
      upstream.close(NORMAL);
      openCall.close();
      for (const socket of [client, upstream]) closeWithin(clock, isCut ? 0 : GRACE_MS, socket);
    }
  }
}

/** After an error, such as a message that is too large, the library closes the socket, and `close` follows. */
function closesItself(): void {}

/** A peer that does not answer the close loses its connection. */
function closeWithin(clock: Clock, afterMs: number, socket: WebSocket): void {
  if (socket.readyState === socket.CLOSED) return;
  socket.once(
    "close",
    clock.after(afterMs, () => socket.terminate()),
  );
}

function errorEvent(error: AppError, eventId: string | undefined): string {
  const { error: body } = gatewayErrorBody(error);
  return JSON.stringify({ type: "error", event_id: `event_${error.code}`, error: { ...body, event_id: eventId ?? null } });
}

/** 1008 says that the client may not go on, 1011 that something failed. */
function codeOf(error: AppError): number {
  return gatewayErrorStatus(error) >= 500 || error.code === "UPSTREAM_TIMEOUT" ? FAILED : POLICY;
}

function outcomeOf(status: string): Outcome {
  if (status === "cancelled") return { status: "cancelled" };
  if (status !== "failed") return { status: "success" };
  const error = new AppError("UPSTREAM_UNAVAILABLE", "The provider could not complete the response.");
  return { status: "error", error, httpStatus: gatewayErrorStatus(error) };
}

function responseOf(event: Fields): { id: string; status: string } {
  const { id, status } = asFields(event["response"]);
  return { id: asText(id) ?? "", status: asText(status) ?? "" };
}

function fieldsOf(text: string): Fields {
  try {
    return asFields(JSON.parse(text));
  } catch {
    // Passed on as it is: the client's library says what is wrong with it.
    return {};
  }
}
