import type { ServerStream } from "../../../common/grpc/server.ts";
import { slotOf } from "../../../common/slots.ts";
import { EndedCalls } from "../../../control-plane/credit/ended-calls.ts";
import { Leases } from "../../../control-plane/credit/leases.ts";
import { Reservations } from "../../../control-plane/credit/reservations.ts";
import { Settler } from "../../../control-plane/credit/settler.ts";
import { Edges } from "../../../control-plane/feed/edges.ts";
import { createForwarder, type ForwardDeps } from "../../../control-plane/peers/forward.ts";
import { accessHandlers } from "../../../control-plane/services/access/service.ts";
import type { ControlDeps } from "../../../control-plane/services/deps.ts";
import { Ownership } from "../../../control-plane/slots/ownership.ts";
import { requireOwner } from "../../../control-plane/slots/require-owner.ts";
import { allSlots, type Slots } from "../../../control-plane/slots/slots.ts";
import type { Store } from "../../../control-plane/stores/store.ts";
import { AccessServiceService, type WatchRequest, type WatchResponse } from "../../../proto/gen/tributary/access/v1/access.ts";
import { commit } from "./commit.ts";
import { startJobs } from "./control-jobs.ts";
import { memoryStore } from "./memory-store.ts";
import type { CreditHandlers } from "./mutant.ts";
import { askPlane, type Method } from "./network.ts";
import { noteGrants } from "./note-grants.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import { SimProcess } from "./sim-process.ts";
import { StoreLine } from "./store-line.ts";
import type { World } from "./world.ts";

const DRAIN_MS = 2_000;
const ANSWER_MS = 50;
const NO_SIGNAL = new AbortController().signal;

/** One life of a control plane: its own slots, handlers, settler, leases and reservations over what is committed. */
export class ControlCore {
  readonly process: SimProcess;
  readonly line: StoreLine;
  readonly slots: Slots;
  readonly store: Store;
  readonly reservations: Reservations;
  readonly handlers: CreditHandlers;
  /** It accepts connections. */
  isServing = false;
  isLeaving = false;
  readonly #settler: Settler;
  readonly #watch: (request: WatchRequest, stream: ServerStream<WatchResponse>) => void;
  readonly #forwarder: ReturnType<typeof createForwarder>;
  #deaths: (() => void)[] = [];
  readonly #stopping = new AbortController();
  readonly #world: World;

  constructor(world: World, place: PlaneSlot, life: string) {
    this.#world = world;
    this.process = new SimProcess(life, { time: world.time, onPoint: (point) => this.#onPoint(place, point) });
    this.line = new StoreLine(world, this.process, place.name);
    const { clock } = this.process;
    const { mutant, plan, logger, tables } = world;
    const self = { id: life, address: place.address };
    this.slots = createSlots(world, this, self);
    this.store = createStore(world, this);
    const { store, slots } = this;
    this.reservations = new Reservations({
      reader: store,
      clock,
      policy: plan.policy,
      requireOwner: (organizationId) => requireOwner({ slots }, organizationId),
    });
    const { reservations } = this;
    slots.onLost((lost) => reservations.forget((organizationId) => lost.has(slotOf(organizationId, slots.count))));
    this.#settler = new Settler({ store, reservations, clock, logger });
    const edges = new Edges(clock);
    const ended = new EndedCalls({ edges, clock });
    const leases = new Leases({ store, clock, policy: plan.policy, reservations, ended });
    // The handlers of credit and of watches need no more than this of what the control plane is made of.
    const deps = {
      reservations,
      settler: this.#settler,
      leases,
      ended,
      slots,
      edges,
      feed: { stopping: this.#stopping.signal },
      clock: this.process.pollClock,
      logger,
      instance: life,
    } as unknown as ControlDeps;
    const handlers = accessHandlers(deps, { hash: undefined, sha256: undefined });
    const noted = noteGrants(world, this, handlers);
    this.handlers = mutant.handlers?.(noted, tables, clock.now) ?? noted;
    this.#watch = handlers.watch;
    this.#forwarder = createForwarder({
      slots,
      clock,
      open: (address) => channelTo(world, { name: place.name, process: this.process, address }),
    });
  }

  /** Takes the slots that are free, then serves. Rejects if the store cannot be reached. */
  async start(): Promise<void> {
    if (this.slots instanceof Ownership) await this.slots.start();
    this.isServing = true;
    startJobs(this.#world, this);
  }

  /** Answers a call, or has it answered by the owner of its slot. */
  async answer(
    method: Method,
    given: unknown,
    caller: { metadata: Readonly<Record<string, string>>; remainingMs: number },
  ): Promise<unknown> {
    const { metadata, remainingMs } = caller;
    const context = { metadata, signal: NO_SIGNAL, setHeader: () => {} };
    const handle = this.handlers[method] as (request: unknown, context: unknown) => Promise<unknown>;
    const here = async (request: unknown) => handle(request, context);
    try {
      return await here(given);
    } catch (thrown) {
      const call = { method: AccessServiceService[method], request: given, context, authContext: {}, remainingMs, here };
      const answered = this.#forwarder.elsewhere(thrown, call);
      if (answered === undefined) throw thrown;
      return await answered;
    }
  }

  watch(request: WatchRequest, stream: ServerStream<WatchResponse>): void {
    this.#watch(request, stream);
  }

  /** Hands its slots over, as on SIGTERM. */
  async leave(): Promise<void> {
    this.isLeaving = true;
    const { clock } = this.process;
    await this.slots.leave(() => Promise.race([this.#settler.idle(), clock.sleep(DRAIN_MS)]));
    this.#stopping.abort();
    this.isServing = false;
    await this.#settler.idle();
    await clock.sleep(ANSWER_MS);
  }

  /** Calls back when this life ends. */
  onDeath(work: () => void): void {
    this.#deaths.push(work);
  }

  end(): void {
    this.process.alive = false;
    this.isServing = false;
    for (const work of this.#deaths.splice(0)) work();
  }

  #onPoint(place: PlaneSlot, point: string): "die" | "go on" {
    const trap = this.#world.sprung(place.name, point);
    if (!trap) return "go on";
    if (trap.how === "stop") {
      this.process.stop();
      this.#world.time.after(trap.forMs ?? 0, () => this.process.goOn());
      return "go on";
    }
    place.die(this);
    return "die";
  }
}

function createSlots(world: World, { process, line }: ControlCore, self: { id: string; address: string }): Slots {
  const { slots: count } = world.plan;
  if (!world.isShared) return allSlots({ count, self });
  return new Ownership({ rows: line.rows(world.rows), clock: process.lightClock, logger: world.logger, self, count });
}

function createStore(world: World, core: ControlCore): Store {
  const { tables, plan, mutant } = world;
  const { reader = (same) => same, apply, isUnfenced } = mutant;
  return memoryStore({
    tables,
    slots: plan.slots,
    fence: world.isShared ? { epochOf: (slot) => core.slots.epochOf(slot) } : undefined,
    isUnfenced,
    reader: (same) => (world.isShared ? core.line.reader(reader(same)) : reader(same)),
    ...(apply ? { apply } : {}),
    commit: (writes, put) => commit(world, core, { writes, put }),
  });
}

/** A control plane's channel to another one, for calls that it forwards. */
function channelTo(
  world: World,
  { address, ...caller }: { name: string; process: SimProcess; address: string },
): ReturnType<ForwardDeps["open"]> {
  const service = ({ call: { path } }: { call: { path: string } }) => ({
    call: (request: unknown, { deadlineMs, metadata }: { deadlineMs: number; metadata: Readonly<Record<string, string>> }) => {
      world.hit("a call is forwarded");
      const to = world.planeAt(address);
      const method = METHODS.find((name) => AccessServiceService[name].path === path);
      if (!to || !method) return Promise.reject(new Error(`there is no ${path} at ${address}`));
      return askPlane(world, caller, to, { method, request, deadlineMs, metadata });
    },
  });
  return { service, close: () => {} } as unknown as ReturnType<ForwardDeps["open"]>;
}

const METHODS: readonly Method[] = ["lease", "settle", "reserve", "reserveMany", "release", "flushed"];
