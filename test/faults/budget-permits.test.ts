import { Readable } from "node:stream";
import fc from "fast-check";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { Reservations } from "../../control-plane/credit/reservations.ts";
import { emptyAccount, organizationAccount } from "../../control-plane/domain/ledger.ts";
import type { Reader } from "../../control-plane/stores/store.ts";
import type { ReserveInput } from "../../gateway-edge/credit/credit.ts";
import type { PermittedCall } from "../../gateway-edge/credit/permit.ts";
import { RatePermits } from "../../gateway-edge/credit/rate-permits.ts";

interface Call {
  readonly callId: string;
  readonly reserved: bigint;
  /** Undefined: the call was reserved by itself. */
  readonly permitted: PermittedCall | undefined;
  cost: bigint;
}

interface Edge {
  id: string;
  permits: RatePermits;
  running: Call[];
  /** Ended, and not in the ledger yet. */
  ended: Call[];
  /** The process before it, until its calls are in the ledger. */
  dead: { ids: string[]; calls: Call[] };
}

/** Edges that spend parts of one key's budget by themselves, and the control plane that grants them, on one clock. */
class World {
  now = 5000;
  readonly #clock: Clock = { now: () => this.now, monotonicMs: () => this.now, sleep: async () => {}, after: () => () => {} };
  readonly #uses = { id: "key_1", organizationId: "org_1", spend: 0n, lastUsedAt: 0 };
  readonly #reservations: Reservations;
  readonly edges: Edge[];
  #calls = 0;
  asked = 0;

  constructor(edges: number, maxBudget: bigint) {
    const records: Record<string, unknown> = {
      teams: { id: "team_1", organizationId: "org_1" },
      keys: { id: "key_1", maxBudget },
      organizations: { id: "org_1" },
      accounts: { ...emptyAccount(organizationAccount("org_1")), balance: 10n ** 15n },
    };
    const read = async (collection: string) => (collection === "keyUses" ? { ...this.#uses } : records[collection]);
    const reader = { get: read, find: async () => undefined, getMany: async () => [], scan: () => Readable.from([]) };
    this.#reservations = new Reservations({ reader: reader as unknown as Reader, clock: this.#clock, policy: "document" });
    this.edges = Array.from({ length: edges }, (_, index) => this.#newEdge(index));
  }

  /** What is spent, and what calls that the ledger does not have can cost. */
  get exposure(): bigint {
    return this.edges.reduce(
      (sum, { running, ended, dead }) =>
        sum +
        running.reduce((total, { reserved }) => total + reserved, 0n) +
        [...ended, ...dead.calls].reduce((total, { cost }) => total + cost, 0n),
      this.#uses.spend,
    );
  }

  get spend(): bigint {
    return this.#uses.spend;
  }

  async call(edge: Edge, worstCase: bigint): Promise<void> {
    const callId = `call_${this.#calls++}`;
    const input = { intent: { callId, apiKeyId: "key_1", organizationId: "org_1", worstCase }, model: "m", tokens: 1 } as ReserveInput;
    const permitted = edge.permits.take(input);
    if (permitted) return void edge.running.push({ callId, reserved: worstCase, permitted, cost: 0n });
    const ahead = edge.permits.ahead(input);
    this.asked++;
    const answer = await this.reserve(callId, worstCase, ahead.requests > 0 ? { ...ahead, edgeId: edge.id } : undefined);
    if (answer) edge.running.push({ callId, reserved: answer.reserved, permitted: undefined, cost: 0n });
    if (ahead.requests === 0) return;
    const permit = answer?.permit && { ...answer.permit, requests: BigInt(answer.permit.requests), tokens: undefined };
    edge.permits.asked(input, answer && { permit, rate: answer.rate, askedAtMs: this.now });
  }

  async reserve(callId: string, worstCase: bigint, ahead?: Parameters<Reservations["reserve"]>[0]["ahead"]) {
    try {
      const owners = { keyId: "key_1", teamId: "team_1", organizationId: "org_1", model: "m" };
      return await this.#reservations.reserve({ ...owners, callId, worstCase, tokens: 1, ahead });
    } catch (refused) {
      if (!(refused instanceof AppError)) throw refused;
      return undefined;
    }
  }

  end({ running, ended }: Edge, calls: number, share: bigint): void {
    for (const call of running.splice(0, calls)) {
      call.cost = (call.reserved * share) / 100n;
      call.permitted?.end(call.cost);
      ended.push(call);
    }
  }

  settle({ ended, dead }: Edge): void {
    for (const call of [...dead.calls.splice(0), ...ended.splice(0)]) {
      this.#uses.spend += call.cost;
      this.#reservations.release(call.callId);
      call.permitted?.settled();
    }
    this.#reservations.endEdges(dead.ids.splice(0));
  }

  report({ permits }: Edge, what: "arrives" | "unknown" | "lost"): void {
    for (const returned of permits.unused()) {
      const { requests, budget } = returned.unused;
      if (what !== "lost") this.#reservations.takeBack(returned.permit.callId, { requests: Number(requests), tokens: 0, budget });
      permits.returned(returned, what === "arrives");
    }
  }

  /** The process dies with its calls; the next one bills them for what was delivered. */
  kill(index: number, share: bigint): void {
    const edge = this.edges[index];
    if (!edge) return;
    this.end(edge, edge.running.length, share);
    this.edges[index] = { ...this.#newEdge(index), dead: { ids: [...edge.dead.ids, edge.id], calls: [...edge.dead.calls, ...edge.ended] } };
  }

  #newEdge(index: number): Edge {
    const id = `edge_${index}_${this.#calls}`;
    return { id, permits: new RatePermits(this.#clock), running: [], ended: [], dead: { ids: [], calls: [] } };
  }
}

interface Step {
  readonly edge: number;
  readonly begin: number;
  readonly end: number;
  readonly worstCase: number;
  readonly share: number;
  readonly afterMs: number;
  readonly settles: boolean;
  readonly report: "arrives" | "unknown" | "lost";
  readonly dies: boolean;
}

async function play(world: World, step: Step, maxBudget: bigint): Promise<void> {
  const edge = edgeOf(world, step.edge);
  for (let call = 0; call < step.begin; call++) {
    await world.call(edge, BigInt(step.worstCase));
    expect(world.exposure).toBeLessThanOrEqual(maxBudget);
  }
  world.now += step.afterMs;
  world.end(edge, step.end, BigInt(step.share));
  if (step.dies) world.kill(step.edge, BigInt(step.share));
  if (step.settles) world.settle(edgeOf(world, step.edge));
  world.report(edgeOf(world, step.edge), step.report);
}

function edgeOf({ edges }: World, index: number): Edge {
  const edge = edges[index];
  if (!edge) throw new Error(`there is no edge ${index}`);
  return edge;
}

test("whatever calls of several edges cost, whatever report is lost or process dies, a budget is not exceeded, and all that is left of it is free afterwards", async () => {
  const step: fc.Arbitrary<Step> = fc.record({
    edge: fc.nat(2),
    begin: fc.integer({ min: 0, max: 30 }),
    end: fc.integer({ min: 0, max: 30 }),
    worstCase: fc.integer({ min: 0, max: 50 }),
    share: fc.integer({ min: 0, max: 100 }),
    afterMs: fc.oneof(fc.nat(40), fc.nat(1500)),
    settles: fc.boolean(),
    report: fc.constantFrom("arrives" as const, "arrives" as const, "unknown" as const, "lost" as const),
    dies: fc.nat(15).map((dice) => dice === 0),
  });
  await fc.assert(
    fc.asyncProperty(fc.bigInt({ min: 1n, max: 30_000n }), fc.array(step, { minLength: 5, maxLength: 40 }), async (maxBudget, steps) => {
      const world = new World(3, maxBudget);
      for (const each of steps) await play(world, each, maxBudget);
      world.now += 2000;
      for (const edge of world.edges) {
        world.end(edge, edge.running.length, 50n);
        world.settle(edge);
        world.report(edge, "arrives");
      }
      const left = maxBudget - world.spend;
      expect((await world.reserve("call_last", maxBudget * 2n))?.reserved ?? 0n).toBe(left);
    }),
    { numRuns: 60 },
  );
});

test("a key with a budget that calls often asks now and then, and by itself for each call when little is left", async () => {
  const world = new World(1, 1_000_000n);
  const edge = edgeOf(world, 0);
  for (let turn = 0; turn < 300; turn++) {
    world.now += 10;
    for (let call = 0; call < 10; call++) await world.call(edge, 100n);
    world.end(edge, 10, 10n);
    if (turn % 25 === 0) {
      world.settle(edge);
      world.report(edge, "arrives");
    }
  }
  expect(world.asked).toBeLessThan(3000 * 0.05);
  const asked = world.asked;
  const small = new World(1, 6000n);
  for (let call = 0; call < 50; call++) await small.call(edgeOf(small, 0), 100n);
  expect([small.asked, asked > 0]).toEqual([50, true]);
});
