import { FeedPlace } from "../../../common/feed-place.ts";
import type { CallOptions } from "../../../common/grpc/client.ts";
import { isUnsent } from "../../../common/grpc/fail-over.ts";
import { createPlanes, type PlaneClient, type Planes, type PlanesDeps } from "../../../gateway-edge/access/planes.ts";
import { startWatch } from "../../../gateway-edge/access/watch.ts";
import { chance } from "../chance.ts";
import { askPlane, type Caller, type Method } from "./network.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import { openWatch } from "./watch-line.ts";
import type { World } from "./world.ts";

type Access = PlaneClient["access"];

const NEXT_PLACE_MS = 100;
/** What an edge asks of a control plane about credit. */
const METHODS: readonly Method[] = ["lease", "settle", "reserve", "reserveMany", "release", "flushed"];

/** The control planes as an edge uses them: the edge's own connections and watches, over the simulated network. */
export function connectPlanes(
  world: World,
  caller: Caller,
  { edgeId, flush, seed }: { edgeId: string; flush: PlanesDeps["flush"]; seed: number },
): Planes {
  const anyPlane = new AnyPlane(world, caller, seed);
  const deps = { clock: caller.process.pollClock, random: seededRandom(seed), logger: world.logger, edgeId };
  const connect = (address: string) => planeClient(world, caller, address);
  const control = anyPlane.client as unknown as PlanesDeps["control"];
  const planes = createPlanes({ ...deps, control, connect: world.isShared ? connect : undefined, flush });
  // A single control plane reports no owners, and nothing else in the simulation comes with a watch.
  if (!world.isShared) return planes;
  startWatch(new FeedPlace(), {
    ...deps,
    open: (request, options) => anyPlane.client.watch({ ...request, withoutChanges: true }, options),
    reconnect: () => anyPlane.move(),
    receive: (_changes, { owners }) => planes.take(owners),
    flush: (asked) => flush({ ...asked, access: anyPlane.client.access }),
    recover: async () => new FeedPlace(),
  });
  return planes;
}

/** A connection to any control plane: it moves to the next one when it cannot be opened. */
class AnyPlane {
  readonly client: PlaneClient;
  readonly #world: World;
  readonly #caller: Caller;
  #place: number;

  constructor(world: World, caller: Caller, place: number) {
    this.#world = world;
    this.#caller = caller;
    this.#place = place;
    this.client = clientOf(
      (method, request, options) => this.#untilSent(method, request, options),
      (request, { deadlineMs }) => openWatch(world, caller, { to: this.#to, request, deadlineMs }),
    );
  }

  move(): void {
    this.#place++;
  }

  get #to(): PlaneSlot {
    return this.#world.planes[this.#place % this.#world.planes.length] as PlaneSlot;
  }

  async #untilSent(method: Method, request: unknown, { deadlineMs }: CallOptions): Promise<unknown> {
    const { clock } = this.#caller.process;
    const untilMs = clock.monotonicMs() + deadlineMs;
    for (;;) {
      const to = this.#to;
      try {
        return await askPlane(this.#world, this.#caller, to, { method, request, deadlineMs: untilMs - clock.monotonicMs() });
      } catch (thrown) {
        const isOver = clock.monotonicMs() + 2 * NEXT_PLACE_MS >= untilMs;
        if (!this.#world.isShared || !isUnsent(thrown) || isOver) throw thrown;
        if (to === this.#to) this.move();
        await clock.sleep(NEXT_PLACE_MS);
      }
    }
  }
}

function planeClient(world: World, caller: Caller, address: string): PlaneClient | undefined {
  const to = world.planeAt(address);
  return (
    to &&
    clientOf(
      (method, request, { deadlineMs }) => askPlane(world, caller, to, { method, request, deadlineMs }),
      (request, { deadlineMs }) => openWatch(world, caller, { to, request, deadlineMs }),
    )
  );
}

function clientOf(
  send: (method: Method, request: unknown, options: CallOptions) => Promise<unknown>,
  watch: (...given: Parameters<PlaneClient["watch"]>) => ReturnType<typeof openWatch>,
): PlaneClient {
  const methods = METHODS.map((method) => [method, (request: unknown, options: CallOptions) => send(method, request, options)]);
  const access = Object.fromEntries(methods) as unknown as Access;
  const client: Pick<PlaneClient, "access" | "reconnect" | "close"> & { watch: typeof watch } = {
    access,
    watch,
    reconnect: () => {},
    close: () => {},
  };
  return client as unknown as PlaneClient;
}

function seededRandom(seed: number): PlanesDeps["random"] {
  const dice = chance(seed);
  return { bytes: (count) => Buffer.from(Array.from({ length: count }, () => dice.below(256))) };
}
