import type { Socket } from "node:net";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";
import { DirectRequest } from "./direct-request.ts";
import { DirectResponse, type ResponseConnection } from "./direct-response.ts";
import { HEAD_BYTES_MAX, type RequestHead, type RequestLines, readHead } from "./request-head.ts";

/** What connections share. */
export interface ConnectionDeps {
  readonly lines: RequestLines;
  /** Whether responses from now on ask their clients to close the connection. */
  readonly isStopping: boolean;
  answer(request: CallRequest, response: CallResponse): void;
  /** Whether a request of this length may be held while its rest arrives; then `release` says when it no longer is. */
  mayHold(bytes: number): boolean;
  release(bytes: number): void;
  /** Node's server reads the connection from here on; `bytes` are what arrived of its next request. */
  handOver(socket: Socket, bytes: Buffer): void;
  closed(connection: CallConnection): void;
}

/** Of requests that come before the answer to the one before them; in few pieces, because each takes more than its bytes. */
const AHEAD_BYTES_MAX = 64 * 1024;
const AHEAD_PIECES_MAX = 64;
/** A body that is longer, and has not arrived as a whole, is left to Node, which shows its route the body as it comes. */
const HELD_BODY_MAX = 64 * 1024;
/** Longer heads are not remembered: a connection keeps the last one until it closes. */
const KNOWN_HEAD_MAX = 2048;

const HEAD_END = "\r\n\r\n";

/** A request whose body is not complete. */
interface Awaited {
  readonly head: RequestHead;
  /** Head and body, of which the first `filled` bytes have arrived: in one piece, because a piece of a byte takes hundreds. */
  readonly bytes: Buffer;
  readonly bodyAt: number;
  filled: number;
}

/** What a connection waits for: its first request, the next one, the rest of a body, the end of its response, or its own end, from which on nothing is read. */
type State = "fresh" | "idle" | "reading" | "answering" | "closing";

/**
 * A connection whose requests are calls: each is read from its socket and answered on it, one after the other. From the first request on that is
 * not the usual request of a call (request-head.ts), the connection is one of Node's server, for good.
 */
export class CallConnection implements ResponseConnection {
  readonly socket: Socket;
  readonly #deps: ConnectionDeps;
  /** Checks of all connections since it is in its state. */
  #checks = 0;
  #state: State = "fresh";
  #awaited: Awaited | undefined;
  /** What arrived while a response was sent. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #response: DirectResponse | undefined;
  #last: { text: string; head: RequestHead } | undefined;

  constructor(socket: Socket, deps: ConnectionDeps) {
    this.socket = socket;
    this.#deps = deps;
    socket.on("data", this.#receive).on("end", this.#end).on("drain", this.#drain).on("error", ignored).on("close", this.#close);
  }

  get state(): State {
    return this.#state;
  }

  /** Whether the connection closes after a response that begins now. */
  get isLast(): boolean {
    return this.#deps.isStopping;
  }

  /** The number of checks that found it in its state, this one included. */
  checked(): number {
    return ++this.#checks;
  }

  /** A request that comes now would have no answer: the connection is refused or closed. */
  close(): void {
    this.#enter("closing");
  }

  /** Leaves a request that has not arrived to Node, whose limits are for such. */
  leave(): void {
    const awaited = this.#awaited;
    if (!awaited) return;
    this.#forget(awaited);
    this.#leave(awaited.bytes.subarray(0, awaited.filled));
  }

  answered(response: DirectResponse): void {
    if (this.#response !== response) return;
    this.#response = undefined;
    if (response.closesConnection || this.#deps.isStopping) {
      this.#enter("closing");
      this.socket.destroySoon();
      return;
    }
    this.#enter("idle");
    if (this.#heldBytes === 0) return;
    const bytes = this.#takeHeld();
    this.socket.resume();
    this.#read(bytes);
  }

  readonly #receive = (bytes: Buffer): void => {
    if (this.#state === "fresh" || this.#state === "idle") this.#read(bytes);
    else if (this.#awaited) this.#fill(this.#awaited, bytes);
    else if (this.#state === "answering") this.#hold(bytes);
  };

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > AHEAD_BYTES_MAX || this.#held.length >= AHEAD_PIECES_MAX) this.socket.pause();
  }

  #read(bytes: Buffer): void {
    const end = bytes.indexOf(HEAD_END);
    const head = end < 0 || end > HEAD_BYTES_MAX ? undefined : this.#headOf(bytes.toString("latin1", 0, end));
    const bodyAt = end + HEAD_END.length;
    const length = bodyAt + (head?.bodyBytes ?? 0);
    if (!head) this.#leave(bytes);
    else if (bytes.length >= length) this.#dispatch(head, bytes.subarray(bodyAt, length), restOf(bytes, length));
    else if (head.bodyBytes <= HELD_BODY_MAX && this.#deps.mayHold(length)) this.#await(head, bytes, bodyAt);
    else this.#leave(bytes);
  }

  /** The rest of the body has not arrived. */
  #await(head: RequestHead, bytes: Buffer, bodyAt: number): void {
    const request = Buffer.allocUnsafeSlow(bodyAt + head.bodyBytes);
    this.#awaited = { head, bytes: request, bodyAt, filled: bytes.copy(request) };
    this.#enter("reading");
  }

  #fill(awaited: Awaited, bytes: Buffer): void {
    const { head, bytes: request, bodyAt } = awaited;
    const taken = bytes.copy(request, awaited.filled);
    awaited.filled += taken;
    if (awaited.filled < request.length) return;
    this.#forget(awaited);
    this.#dispatch(head, request.subarray(bodyAt), restOf(bytes, taken));
  }

  #forget({ bytes }: Awaited): void {
    this.#awaited = undefined;
    this.#deps.release(bytes.length);
  }

  /** Most clients send one head again and again. */
  #headOf(text: string): RequestHead | undefined {
    if (this.#last?.text === text) return this.#last.head;
    const head = readHead(text, this.#deps.lines);
    this.#last = head && text.length <= KNOWN_HEAD_MAX ? { text, head } : undefined;
    return head;
  }

  /** Answers the request; what follows it is the next one. */
  #dispatch(head: RequestHead, body: Buffer, next: Buffer | undefined): void {
    this.#enter("answering");
    if (next) {
      this.#held = [next];
      this.#heldBytes = next.length;
    }
    const request = new DirectRequest(head, { body, socket: this.socket });
    const response = new DirectResponse(this);
    this.#response = response;
    this.#deps.answer(request, response);
  }

  #takeHeld(): Buffer {
    const [held, first] = [this.#held, this.#held[0]];
    this.#held = [];
    this.#heldBytes = 0;
    return held.length === 1 && first ? first : Buffer.concat(held);
  }

  #enter(state: State): void {
    this.#state = state;
    this.#checks = 0;
  }

  #leave(bytes: Buffer): void {
    const { socket } = this;
    socket.off("data", this.#receive).off("end", this.#end).off("drain", this.#drain).off("error", ignored).off("close", this.#close);
    this.#deps.closed(this);
    this.#deps.handOver(socket, bytes);
  }

  readonly #drain = (): void => void this.#response?.emit("drain");

  /** As Node's server does: a client that ends its side gets no more answers. One that ends it within a request is told so by Node. */
  readonly #end = (): void => {
    if (!this.#awaited) return void this.socket.end();
    this.leave();
    this.socket.emit("end");
  };

  readonly #close = (): void => {
    this.#deps.closed(this);
    if (this.#awaited) this.#forget(this.#awaited);
    this.#response?.cut();
    this.#response = undefined;
  };
}

/** Most have none, and a view of nothing is an object, too. */
function restOf(bytes: Buffer, from: number): Buffer | undefined {
  return bytes.length > from ? bytes.subarray(from) : undefined;
}

/** The connection is closed after it, and that ends the call. */
function ignored(): void {}
