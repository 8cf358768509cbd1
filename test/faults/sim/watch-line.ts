import { status } from "@grpc/grpc-js";
import type { ServerStream } from "../../../common/grpc/server.ts";
import type { WatchStream } from "../../../gateway-edge/access/watch.ts";
import { type WatchRequest, WatchResponse } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Caller } from "./network.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import { LIGHT } from "./sim-time.ts";
import type { World } from "./world.ts";

const TRAVEL_MS = 1;
/** After this time without an answer to its pings the connection of a peer that is gone is closed. */
const KEEPALIVE_MS = 30_000;

/** A watch of an edge over a connection that loses nothing: what cannot be delivered now is delivered when the link is whole again. */
export function openWatch(
  world: World,
  caller: Caller,
  { to, request, deadlineMs }: { to: PlaneSlot; request: WatchRequest; deadlineMs: number },
): WatchStream {
  return new WatchLine(world, caller, to).open(request, deadlineMs);
}

class WatchLine {
  readonly #world: World;
  readonly #caller: Caller;
  readonly #to: PlaneSlot;
  readonly #gone = new AbortController();
  readonly #inbox = new Inbox();
  #undelivered: WatchResponse[] = [];

  constructor(world: World, caller: Caller, to: PlaneSlot) {
    this.#world = world;
    this.#caller = caller;
    this.#to = to;
  }

  open(request: WatchRequest, deadlineMs: number): WatchStream {
    const { time, links } = this.#world;
    time.after(deadlineMs, () => this.#end(status.DEADLINE_EXCEEDED));
    if (!links.isCut(this.#caller.name, this.#to.name)) time.after(TRAVEL_MS, () => this.#arrive(request));
    return {
      cancel: () => this.#cancel(),
      [Symbol.asyncIterator]: () => this.#inbox,
    };
  }

  #arrive(request: WatchRequest): void {
    const { core } = this.#to;
    if (!core?.isServing) {
      this.#end(status.UNAVAILABLE);
      return;
    }
    core.onDeath(() => {
      if (!this.#isCutBack()) this.#end(status.UNAVAILABLE);
    });
    const stream: ServerStream<WatchResponse> = {
      metadata: {},
      signal: this.#gone.signal,
      write: (message) => this.#write(message),
      drained: async () => {},
      end: () => this.#end(status.OK),
      fail: () => this.#end(status.UNAVAILABLE),
    };
    core.process.enter(() => core.watch(request, stream));
  }

  #write(message: WatchResponse): boolean {
    if (!this.#caller.process.alive) this.#gone.abort();
    this.#undelivered.push(message);
    if (this.#isCutBack()) return true;
    const messages = this.#undelivered;
    this.#undelivered = [];
    const arrive = () => {
      for (const each of messages) this.#caller.process.enter(() => this.#inbox.push(WatchResponse.fromPartial(each)));
    };
    this.#world.time.after(TRAVEL_MS, arrive, LIGHT);
    return true;
  }

  #isCutBack(): boolean {
    return this.#world.links.isCut(this.#to.name, this.#caller.name);
  }

  #cancel(): void {
    const { time, links } = this.#world;
    time.after(links.isCut(this.#caller.name, this.#to.name) ? KEEPALIVE_MS : TRAVEL_MS, () => this.#gone.abort());
    this.#inbox.fail(status.CANCELLED);
  }

  #end(code: status): void {
    this.#world.time.after(TRAVEL_MS, () => {
      this.#gone.abort();
      this.#caller.process.enter(() => this.#inbox.fail(code));
    });
  }
}

/** Messages that arrived and were not read yet; ends with an error, as a stream that breaks does. */
class Inbox implements AsyncIterator<WatchResponse> {
  readonly #messages: WatchResponse[] = [];
  #failure: { code: status } | undefined;
  #wake: () => void = () => {};

  push(message: WatchResponse): void {
    if (this.#failure) return;
    this.#messages.push(message);
    this.#wake();
  }

  fail(code: status): void {
    this.#failure ??= { code };
    this.#wake();
  }

  async next(): Promise<IteratorResult<WatchResponse>> {
    while (this.#messages.length === 0 && !this.#failure) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const message = this.#messages.shift();
    if (message) return { done: false, value: message };
    throw this.#failure;
  }
}
