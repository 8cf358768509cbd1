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
  /** Whether a body of this length may be held while its rest arrives; then `release` says when it no longer is. */
  mayHold(bodyBytes: number): boolean;
  release(bodyBytes: number): void;
  /** Node's server reads the connection from here on; `bytes` are what arrived of its next request. */
  handOver(socket: Socket, bytes: Buffer): void;
  closed(connection: CallConnection): void;
}

/** Of requests that come before the answer to the one before them. */
const AHEAD_BYTES_MAX = 64 * 1024;

const HEAD_END = "\r\n\r\n";

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
  /** The request whose body is not complete. */
  #head: RequestHead | undefined;
  /** What arrived of a body, or while a response was sent. */
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
    else if (this.#state !== "closing") this.#hold(bytes);
  };

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#head) {
      if (this.#heldBytes >= this.#head.bodyBytes) this.#dispatch(this.#takeHead(this.#head), this.#takeHeld());
    } else if (this.#heldBytes > AHEAD_BYTES_MAX) {
      this.socket.pause();
    }
  }

  #read(bytes: Buffer): void {
    const end = bytes.indexOf(HEAD_END);
    const head = end < 0 || end > HEAD_BYTES_MAX ? undefined : this.#headOf(bytes.toString("latin1", 0, end));
    const body = bytes.subarray(end + HEAD_END.length);
    if (head && body.length >= head.bodyBytes) this.#dispatch(head, body);
    else if (head && this.#deps.mayHold(head.bodyBytes)) this.#await(head, body);
    else this.#leave(bytes);
  }

  /** The rest of the body has not arrived. */
  #await(head: RequestHead, body: Buffer): void {
    this.#head = head;
    this.#held = [body];
    this.#heldBytes = body.length;
    this.#enter("reading");
  }

  /** Most clients send one head again and again. */
  #headOf(text: string): RequestHead | undefined {
    if (this.#last?.text === text) return this.#last.head;
    const head = readHead(text, this.#deps.lines);
    this.#last = head && { text, head };
    return head;
  }

  /** Answers the request; what follows its body is the next one. */
  #dispatch(head: RequestHead, bytes: Buffer): void {
    this.#enter("answering");
    const { bodyBytes } = head;
    if (bytes.length > bodyBytes) {
      this.#held = [bytes.subarray(bodyBytes)];
      this.#heldBytes = bytes.length - bodyBytes;
    }
    const body = bytes.length > bodyBytes ? bytes.subarray(0, bodyBytes) : bytes;
    const request = new DirectRequest(head, { body, socket: this.socket });
    const response = new DirectResponse(this);
    this.#response = response;
    this.#deps.answer(request, response);
  }

  #takeHead(head: RequestHead): RequestHead {
    this.#head = undefined;
    this.#deps.release(head.bodyBytes);
    return head;
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

  /** As Node's server does: a client that ends its side gets no more answers. */
  readonly #end = (): void => void this.socket.end();

  readonly #close = (): void => {
    this.#deps.closed(this);
    if (this.#head) this.#takeHead(this.#head);
    this.#response?.cut();
    this.#response = undefined;
  };
}

/** The connection is closed after it, and that ends the call. */
function ignored(): void {}
