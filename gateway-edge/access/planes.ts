import type { Clock } from "../../common/clock.ts";
import { asAppError } from "../../common/errors.ts";
import { FeedPlace } from "../../common/feed-place.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { LeaseReturn, SettleRequest, SettleResponse, SlotOwners } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "./clients/control-plane.ts";
import type { EncodedSettlement } from "./clients/settle-request.ts";
import { SlotAddresses } from "./slot-owners.ts";
import { type FlushAsked, startWatch, type Watch } from "./watch.ts";

type Access = ControlPlane["access"];
/** A control plane as an edge that knows its address uses it. */
export type PlaneClient = Pick<ControlPlane, "access" | "system" | "watch" | "reconnect" | "close">;
/** The calls that the owner of an organization answers. */
export type CreditAccess = Pick<Access, "lease" | "reserve" | "reserveMany" | "release" | "settle">;

export interface PlanesDeps {
  /** The control plane that this edge is connected to; with one, all calls go there. */
  readonly control: Pick<ControlPlane, "access" | "system">;
  /** Opens a connection to the control plane at an address; undefined: it must not be opened, and its calls are forwarded. */
  readonly connect: ((address: string) => PlaneClient | undefined) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly edgeId: string;
  /** A plane reads money: settle what ended, then confirm to it. */
  flush(asked: FlushAsked & { access: Pick<Access, "flushed"> }): void;
}

/** The control planes of an installation with several, and which of them an organization's calls go to. */
export interface Planes {
  /** Owners of slots as a control plane reports them. */
  take(owners: SlotOwners | undefined): void;
  /** Credit and settlements, at the owner of each organization. */
  readonly access: CreditAccess;
  /** The same for organizations with one owner. */
  laneOf(organizationId: string): string;
  /** Another number whenever owners may have changed; 0: there is one control plane. */
  division(): number;
  /** Every control plane. */
  all(): readonly Pick<ControlPlane, "system">[];
  stop(): Promise<void>;
}

/**
 * While a slot has no owner, because its owner was killed, another plane holds the call until it has one. A call waits for that rather than
 * being refused.
 */
const MOVING_MS = 8_000;
const AGAIN_MS = 200;

interface Connection {
  readonly client: PlaneClient;
  readonly watch: Watch;
}

/** The connections to every living plane where there are several. */
class Connections {
  readonly #deps: PlanesDeps;
  readonly #addresses = new SlotAddresses();
  readonly #byAddress = new Map<string, Connection>();
  #taken = 0;

  constructor(deps: PlanesDeps) {
    this.#deps = deps;
  }

  take(owners: SlotOwners | undefined): void {
    if (owners === undefined || this.#deps.connect === undefined) return;
    this.#addresses.take(owners);
    this.#taken++;
    const living = new Set(this.#addresses.planes.map(({ address }) => address));
    const missing = [...living].filter((address) => living.size > 1 && !this.#byAddress.has(address));
    for (const address of missing) this.#open(address);
    // The last one stays: it hears this edge before the connection that was to another plane has moved to it.
    for (const address of this.#byAddress.keys()) if (!living.has(address)) void this.leave(address);
  }

  get all(): ReadonlyMap<string, Connection> {
    return this.#byAddress;
  }

  laneOf(organizationId: string): string {
    return this.#byAddress.size === 0 ? "" : (this.#addresses.addressOf(organizationId) ?? "");
  }

  get division(): number {
    return this.#byAddress.size === 0 ? 0 : this.#taken;
  }

  async leave(address: string): Promise<void> {
    const connection = this.#byAddress.get(address);
    this.#byAddress.delete(address);
    await connection?.watch.stop();
    connection?.client.close();
  }

  #open(address: string): void {
    const client = this.#deps.connect?.(address);
    if (client === undefined) return;
    const watch = startWatch(new FeedPlace(), {
      ...this.#deps,
      open: (request, options) => client.watch({ ...request, withoutChanges: true }, options),
      reconnect: () => client.reconnect(),
      receive: (_changes, { owners }) => this.take(owners),
      flush: (asked) => this.#deps.flush({ ...asked, access: client.access }),
      recover: async () => new FeedPlace(),
    });
    this.#byAddress.set(address, { client, watch });
  }
}

export function createPlanes(deps: PlanesDeps): Planes {
  const { control } = deps;
  const connections = new Connections(deps);
  const laneOf = (organizationId: string) => connections.laneOf(organizationId);

  /** The connection to any plane may have been to the one that is gone: the call is repeated until it has moved. */
  async function askAny<Answer>(waitMs: number, send: (deadlineMs: number) => Promise<Answer>): Promise<Answer> {
    const untilMs = deps.clock.monotonicMs() + waitMs;
    for (let leftMs = waitMs; ; leftMs = untilMs - deps.clock.monotonicMs()) {
      try {
        return await send(leftMs);
      } catch (thrown) {
        const isOver = deps.clock.monotonicMs() + 2 * AGAIN_MS >= untilMs;
        if (isOver || asAppError(thrown).code !== "UNAVAILABLE") throw thrown;
        await deps.clock.sleep(AGAIN_MS);
      }
    }
  }

  /** Asks the owner and, if that does not answer, any plane, which forwards the call. Each of these calls can be repeated. */
  async function ask<Answer>(
    lane: string,
    options: CallOptions,
    send: (access: Access, options: CallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const owner = connections.all.get(lane)?.client.access;
    if (owner === undefined) return send(control.access, options);
    try {
      return await send(owner, options);
    } catch (thrown) {
      const { code } = asAppError(thrown);
      if (code !== "UNAVAILABLE" && code !== "DB_TIMEOUT") throw thrown;
      return askAny(Math.max(options.deadlineMs, MOVING_MS), (deadlineMs) => send(control.access, { ...options, deadlineMs }));
    }
  }

  /** Each owner gets its own part of a report; dead edges are reported to all of them. */
  async function settle(request: SettleRequest, options: CallOptions): Promise<SettleResponse> {
    if (connections.all.size === 0) return control.access.settle(request, options);
    const parts = partsOf(request, laneOf, request.endedEdges.length > 0 ? [...connections.all.keys()] : []);
    const answers = await Promise.all(
      [...parts].map(([lane, part]) => ask(lane, options, (access, within) => access.settle(part, within))),
    );
    return answers.reduce(
      (sum, { settled, repeatedBefore }) => ({ settled: sum.settled + settled, repeatedBefore: sum.repeatedBefore + repeatedBefore }),
      { settled: 0n, repeatedBefore: 0n },
    );
  }

  return {
    take: (owners) => connections.take(owners),
    laneOf,
    division: () => connections.division,
    access: {
      lease: (request, options) => ask(laneOf(request.organizationId), options, (access, within) => access.lease(request, within)),
      reserve: (request, options) => ask(laneOf(request.organizationId), options, (access, within) => access.reserve(request, within)),
      // The reservations of one request have one lane.
      reserveMany: (request, options) =>
        ask(laneOf(request.reservations[0]?.organizationId ?? ""), options, (access, within) => access.reserveMany(request, within)),
      release: (request, options) => ask(laneOf(request.organizationId), options, (access, within) => access.release(request, within)),
      settle,
    },
    all: () => (connections.all.size === 0 ? [control] : [...connections.all.values()].map(({ client }) => client)),
    stop: async () => {
      await Promise.all([...connections.all.keys()].map((address) => connections.leave(address)));
    },
  };
}

function partsOf(request: SettleRequest, laneOf: (organizationId: string) => string, lanes: readonly string[]): Map<string, SettleRequest> {
  const settlements = Map.groupBy(request.settlements, (settlement: EncodedSettlement) =>
    laneOf(settlement.organizationId ?? settlement.log?.organizationId ?? ""),
  );
  const returns = Map.groupBy(request.returns, ({ organizationId }: LeaseReturn) => laneOf(organizationId));
  const named = new Set([...settlements.keys(), ...returns.keys(), ...lanes]);
  return new Map(
    [...named].map((lane) => [lane, { ...request, settlements: settlements.get(lane) ?? [], returns: returns.get(lane) ?? [] }]),
  );
}
