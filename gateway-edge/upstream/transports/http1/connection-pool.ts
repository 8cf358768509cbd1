import type { Clock } from "../../../../common/clock.ts";
import type { Guard } from "../../../../common/outbound.ts";
import type { UpstreamTls } from "../../providers/provider.ts";
import type { Address } from "../address.ts";
import type { ConnectionWaits } from "../connection-wait.ts";
import type { ProxyOf, UpstreamProxy } from "../proxies.ts";
import { type Call, Connection, type ConnectionOwner } from "./connection.ts";

export interface ConnectionPoolOptions {
  readonly clock: Clock;
  /** The guard of new connections to an origin. */
  readonly guardFor: (origin: string) => Guard;
  readonly proxyOf: ProxyOf;
  readonly connectMs: number;
  /** Connections to one upstream; more calls than this wait for one. */
  readonly connectionsMax: number;
  /** Upstreams at the same time. */
  readonly originsMax: number;
}

/** How long an idle connection stays open, unless the upstream announces its own timeout. */
const IDLE_MS = 10_000;
const IDLE_MS_MAX = 60_000;
/** How long before the upstream's timeout a connection is closed: a call that is sent at that moment would be lost. */
const IDLE_MARGIN_MS = 2000;
const SWEEP_MS = 1000;

class TooManyOrigins extends Error {
  readonly code = "TOO_MANY_ORIGINS";

  constructor(max: number) {
    super(`calls to ${max} upstreams are open already`);
  }
}

/** Runs calls over HTTP/1.1: pooled connections, one call on each at a time, the last used one first. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #origins = new Map<string, Origin>();
  readonly #waits = { waits: 0, waitedMs: 0 };
  /** Only while there are connections. */
  #sweeping: NodeJS.Timeout | undefined;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  waits(): ConnectionWaits {
    let waiting = 0;
    for (const origin of this.#origins.values()) waiting += origin.waiting;
    return { ...this.#waits, waiting };
  }

  /** Calls with another certificate have connections of their own. */
  dispatch(address: Address, call: Call, tls?: UpstreamTls): void {
    const { originsMax } = this.#options;
    const name = tls === undefined ? address.origin : `${address.origin} ${tls.id}`;
    const known = this.#origins.get(name);
    if (known) known.dispatch(call);
    else if (this.#origins.size < originsMax) this.#open(name, { address, tls }).dispatch(call);
    else call.handler.onResponseError(null, new TooManyOrigins(originsMax));
  }

  #open(name: string, place: Pick<Origin, "address" | "tls">): Origin {
    const origin = new Origin(place, this.#options, {
      onEmpty: () => this.#remove(name),
      onWaited: (waitedMs) => {
        this.#waits.waits++;
        this.#waits.waitedMs += waitedMs;
      },
    });
    this.#origins.set(name, origin);
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return origin;
  }

  #remove(name: string): void {
    this.#origins.delete(name);
    if (this.#origins.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }

  #sweep(): void {
    for (const origin of this.#origins.values()) origin.closeExpired();
  }
}

interface OriginEvents {
  onEmpty(): void;
  onWaited(waitedMs: number): void;
}

/** The connections to one upstream. */
class Origin implements ConnectionOwner {
  readonly address: Address;
  readonly tls: UpstreamTls | undefined;
  readonly proxy: UpstreamProxy | undefined;
  session: Buffer | undefined;
  readonly #options: ConnectionPoolOptions;
  readonly #events: OriginEvents;
  /** The last freed connection is at the end. */
  readonly #idle: Connection[] = [];
  readonly #waiting: { readonly call: Call; readonly sinceMs: number }[] = [];
  #connections = 0;

  constructor({ address, tls }: Pick<Origin, "address" | "tls">, options: ConnectionPoolOptions, events: OriginEvents) {
    this.address = address;
    this.tls = tls;
    this.proxy = options.proxyOf(address);
    this.#options = options;
    this.#events = events;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get connectMs(): number {
    return this.#options.connectMs;
  }

  guard(): Guard {
    return this.#options.guardFor(this.address.origin);
  }

  dispatch(call: Call): void {
    const connection = this.#takeIdle();
    if (connection) this.#use(connection, call);
    else if (this.#connections < this.#options.connectionsMax) this.#connectFor(call);
    else {
      this.#waiting.push({ call, sinceMs: this.#options.clock.monotonicMs() });
      call.handler.onQueued?.();
    }
  }

  freed(connection: Connection, keepAliveMs: number | undefined): void {
    const idleMs = keepAliveMs === undefined ? IDLE_MS : Math.min(keepAliveMs - IDLE_MARGIN_MS, IDLE_MS_MAX);
    connection.idleUntilMs = this.#options.clock.monotonicMs() + idleMs;
    if (idleMs > 0) this.unused(connection);
    else connection.close();
  }

  unused(connection: Connection): void {
    this.#use(connection, this.#next());
  }

  gone(connection: Connection): void {
    this.#connections--;
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#connectFor(this.#next());
  }

  closeExpired(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const connection of this.#idle) if (connection.idleUntilMs <= nowMs) connection.close();
  }

  /** The waiting call that came first. */
  #next(): Call | undefined {
    const next = this.#waiting.shift();
    if (next) this.#events.onWaited(this.#options.clock.monotonicMs() - next.sinceMs);
    return next?.call;
  }

  /** A call whose client disconnected meanwhile leaves the connection to the next call. */
  #use(connection: Connection, first: Call | undefined): void {
    for (let call = first; call; call = this.#next()) if (connection.start(call)) return;
    this.#idle.push(connection);
  }

  #takeIdle(): Connection | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isAlive && connection.idleUntilMs > nowMs) return connection;
      connection.close();
    }
    return undefined;
  }

  /** A connection that cannot be created fails its call, but neither the calls behind it nor the code that freed the slot. */
  #connectFor(first: Call | undefined): void {
    for (let call = first; call; call = this.#next()) {
      const connection = this.#connect(call);
      if (!connection) continue;
      this.#connections++;
      connection.start(call);
      return;
    }
    if (this.#connections === 0) this.#events.onEmpty();
  }

  #connect(call: Call): Connection | undefined {
    try {
      return new Connection(this);
    } catch (error) {
      call.handler.onResponseError(null, error as Error);
      return undefined;
    }
  }
}
