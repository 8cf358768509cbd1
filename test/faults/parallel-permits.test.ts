import fc from "fast-check";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { RateLimiter, type RateSubject } from "../../control-plane/credit/rate-limiter.ts";
import type { ReserveInput } from "../../gateway-edge/credit/credit.ts";
import type { Permit } from "../../gateway-edge/credit/permit.ts";
import { RatePermits } from "../../gateway-edge/credit/rate-permits.ts";

interface Edge {
  id: string;
  permits: RatePermits;
  /** Running calls; undefined: the call was reserved by itself. */
  running: (Permit | undefined)[];
  /** Calls of dead processes that were reserved by themselves, until their journal is settled. */
  orphans: number;
}

/** Edges that run calls under permits of parallel calls, and the control plane that grants them, on one clock. */
class World {
  now = 5000;
  readonly #clock: Clock = { now: () => this.now, monotonicMs: () => this.now, sleep: async () => {}, after: () => () => {} };
  readonly #limiter = new RateLimiter(this.#clock);
  readonly #subjects: readonly RateSubject[];
  readonly edges: Edge[];
  #calls = 0;
  asked = 0;
  #deaths: string[] = [];

  constructor(edges: number, maxParallelRequests: number) {
    this.edges = Array.from({ length: edges }, (_, index) => this.#newEdge(index));
    this.#subjects = [
      { kind: "key", id: "key_1", limits: { maxParallelRequests } },
      { kind: "organization", id: "org_1", limits: {} },
    ];
  }

  get running(): number {
    return this.edges.reduce((sum, { running }) => sum + running.length, 0);
  }

  /** Returns whether the call was admitted. */
  call({ id: edgeId, permits, running }: Edge): boolean {
    const input = { intent: { callId: `call_${this.#calls++}`, apiKeyId: "key_1" }, model: "m", tokens: 1 } as ReserveInput;
    const taken = permits.take(input);
    if (taken) {
      running.push(taken.permit);
      return true;
    }
    const ahead = permits.ahead(input);
    this.asked++;
    const answer = this.#reserve(input.intent.callId, { ...ahead, edgeId });
    if (answer) running.push(undefined);
    if (ahead.requests > 0) permits.asked(input, answer && { ...answer, askedAtMs: this.now });
    return answer !== undefined;
  }

  #reserve(callId: string, ahead: { requests: number; tokens: number; parallel: number; edgeId: string }) {
    try {
      const rate = this.#limiter.check(this.#subjects, 1);
      this.#limiter.begin(this.#subjects, 1);
      const permit = ahead.requests > 0 ? this.#limiter.permit(callId, this.#subjects, ahead) : undefined;
      return { rate, permit: permit && { ...permit, requests: BigInt(permit.requests), tokens: undefined } };
    } catch (refused) {
      if (!(refused instanceof AppError)) throw refused;
      return undefined;
    }
  }

  end({ running }: Edge, calls: number): void {
    for (const permit of running.splice(0, calls)) {
      if (permit) permit.end();
      else this.#limiter.end(this.#subjects);
    }
  }

  /** The reports of an edge arrive, arrive without an acknowledgment, or are lost. */
  report({ permits }: Edge, what: "arrives" | "unknown" | "lost"): void {
    for (const returned of permits.unused()) {
      const { permit, unused } = returned;
      const { requests, parallel } = unused;
      if (what !== "lost") this.#limiter.takeBack(permit.callId, { requests: Number(requests), tokens: 0, parallel });
      permits.returned(returned, what === "arrives");
    }
  }

  /** The process dies with its calls. The control plane learns that when the next process has settled them. */
  kill(index: number): void {
    const edge = this.edges[index];
    if (!edge) return;
    this.#deaths.push(edge.id);
    const orphans = edge.orphans + edge.running.filter((permit) => !permit).length;
    this.edges[index] = { ...this.#newEdge(index), orphans };
  }

  settleDead(): void {
    this.#limiter.endPermits(({ edgeId }) => edgeId !== undefined && this.#deaths.includes(edgeId));
    this.#deaths = [];
    for (const edge of this.edges) {
      for (let call = 0; call < edge.orphans; call++) this.#limiter.end(this.#subjects);
      edge.orphans = 0;
    }
  }

  #newEdge(index: number): Edge {
    return { id: `edge_${index}_${this.#calls}`, permits: new RatePermits(this.#clock), running: [], orphans: 0 };
  }
}

interface Step {
  readonly edge: number;
  readonly begin: number;
  readonly end: number;
  readonly afterMs: number;
  readonly report: "arrives" | "unknown" | "lost";
  readonly dies: boolean;
}

function play(world: World, { edge: index, begin, end, afterMs, report, dies }: Step, limit: number): void {
  for (let call = 0; call < begin; call++) {
    world.call(edgeOf(world, index));
    expect(world.running).toBeLessThanOrEqual(limit);
  }
  world.now += afterMs;
  if (dies) world.kill(index);
  world.end(edgeOf(world, index), end);
  world.report(edgeOf(world, index), report);
  if (report === "arrives") world.settleDead();
}

function edgeOf({ edges }: World, index: number): Edge {
  const edge = edges[index];
  if (!edge) throw new Error(`there is no edge ${index}`);
  return edge;
}

test("however calls begin and end at edges, whatever report is lost or process dies, no more calls run at once than the limit, and all of it is free afterwards", () => {
  const step: fc.Arbitrary<Step> = fc.record({
    edge: fc.nat(2),
    begin: fc.integer({ min: 0, max: 60 }),
    end: fc.integer({ min: 0, max: 60 }),
    afterMs: fc.oneof(fc.nat(40), fc.nat(1500)),
    report: fc.constantFrom("arrives" as const, "arrives" as const, "unknown" as const, "lost" as const),
    dies: fc.nat(15).map((dice) => dice === 0),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.array(step, { minLength: 5, maxLength: 60 }), (limit, steps) => {
      const world = new World(3, limit);
      for (const each of steps) play(world, each, limit);
      world.settleDead();
      world.now += 2000;
      for (const edge of world.edges) {
        world.end(edge, edge.running.length);
        world.report(edge, "arrives");
      }
      const admitted = Array.from({ length: limit + 1 }, () => world.call(edgeOf(world, 0)));
      expect(admitted.filter((isAdmitted) => isAdmitted)).toHaveLength(limit);
    }),
    { numRuns: 100 },
  );
});

test("for a key that calls often, an edge asks now and then, although parallel calls are limited", () => {
  const world = new World(1, 2000);
  const edge = edgeOf(world, 0);
  for (let turn = 0; turn < 1000; turn++) {
    world.now += 5;
    for (let call = 0; call < 10; call++) world.call(edge);
    world.end(edge, 10);
    if (turn % 50 === 0) world.report(edge, "arrives");
  }
  expect(world.asked).toBeLessThan(10_000 * 0.02);
});
