import fc from "fast-check";
import { createRetryBudget } from "./retry-budget.ts";
import type { RouteRun, Router } from "./route.ts";
import {
  type DeploymentInput,
  failure,
  fine,
  type Outcome,
  runCall,
  type SimulatedClock,
  settle,
  simulatedClock,
  world,
} from "./routing-fixture.ts";

test("budget: a tenth of the requests of ten seconds, or the floor if that is more", () => {
  const clock = simulatedClock();
  const budget = createRetryBudget(clock, { enabled: true, share: 0.1, floorPerSecond: 1 });
  const taken = (tries: number) => Array.from({ length: tries }, () => budget.takeRetry()).filter(Boolean).length;
  expect(taken(100)).toBe(10);
  for (let request = 0; request < 500; request++) budget.request();
  expect(taken(100)).toBe(40);
  clock.pass(11_000);
  expect(taken(100)).toBe(10);
  const off = createRetryBudget(clock, { enabled: false, share: 0, floorPerSecond: 0 });
  expect(off.takeRetry()).toBe(true);
});

test("at 100 % failure 1,000 calls at once make at most 1.1 × as many upstream calls; without the budget exactly what is configured", async () => {
  const upstream = async (settings: object) => {
    // All of it happens within one window: a sleep does not move this clock.
    const clock = { ...simulatedClock(), sleep: async () => {} };
    const { start } = world([{ id: "a" }, { id: "b" }], { num_retries: 3, disable_cooldowns: true, ...settings }, { clock });
    let calls = 0;
    const runs = Array.from({ length: 1000 }, () => start());
    let open = await Promise.all(runs.map(async (run) => ({ run, attempt: await run.next() })));
    while (open.length > 0) {
      for (const { run, attempt } of open) {
        if (!attempt) continue;
        calls++;
        run.failed(attempt, failure(), { visible: false });
      }
      open = await Promise.all(open.filter(({ attempt }) => attempt).map(async ({ run }) => ({ run, attempt: await run.next() })));
    }
    return calls;
  };
  expect(await upstream({})).toBe(1100);
  expect(await upstream({ retry_budget: false })).toBe(4000);
});

test("at 100 % failure the circuits let hardly anything through", async () => {
  const { start, router, clock } = world([{ id: "a" }, { id: "b" }], { num_retries: 2 });
  for (let call = 0; call < 1000; call++) {
    clock.pass(10);
    await runCall(start(), () => failure());
  }
  const sent = (router.stateOf("a")?.failed ?? 0) + (router.stateOf("b")?.failed ?? 0);
  expect(sent).toBeLessThan(50);
});

interface Play {
  readonly router: Router;
  readonly clock: SimulatedClock;
  readonly deployments: readonly DeploymentInput[];
  outcome(): Outcome;
}

/** Runs a call to its end and counts its attempts; none may go to a deployment that was cooling when it was chosen. */
async function playOut(run: RouteRun, { router, clock, deployments, outcome }: Play): Promise<number> {
  for (let attempts = 0; ; attempts++) {
    const [cooling, slept] = [coolingIds(router, deployments), clock.slept.length];
    const attempt = await run.next();
    if (!attempt) return attempts;
    // Unless it waited: then what cooled before may be free by now.
    if (clock.slept.length === slept) expect(cooling).not.toContain(attempt.deployment.id);
    settle(run, attempt, outcome());
  }
}

function coolingIds(router: Router, deployments: readonly DeploymentInput[]): string[] {
  return deployments.map(({ id }) => id).filter((id) => router.stateOf(id)?.availability.state === "open");
}

const outcome = fc.constantFrom<Outcome>(
  fine,
  fine,
  "cancelled",
  failure(),
  failure("UPSTREAM_TIMEOUT"),
  failure("RATE_LIMIT_EXCEEDED"),
  failure("RATE_LIMIT_EXCEEDED", 7),
  failure("INVALID_REQUEST"),
  failure("CONTEXT_LENGTH_EXCEEDED"),
  failure("SERVER_ERROR"),
);
const strategy = fc.constantFrom("simple-shuffle", "least-busy", "latency-based-routing", "usage-based-routing", "cost-based-routing");
const scenario = fc.record({
  seed: fc.nat(),
  strategy,
  numRetries: fc.nat({ max: 4 }),
  maxFallbacks: fc.nat({ max: 3 }),
  sizes: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 })),
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 40 }),
  pauses: fc.array(fc.nat({ max: 6000 }), { minLength: 1, maxLength: 10 }),
  calls: fc.integer({ min: 1, max: 25 }),
});

test("never more attempts than configured, never a cooling deployment while another is healthy, nothing left in flight", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (given) => {
      const deployments = given.sizes.flatMap((size, group) =>
        Array.from({ length: size }, (_, index): DeploymentInput => ({ id: `g${group}-${index}`, name: `g${group}` })),
      );
      const settings = {
        routing_strategy: given.strategy,
        num_retries: given.numRetries,
        max_fallbacks: given.maxFallbacks,
        fallbacks: [{ g0: ["g1", "g2"] }, { g1: ["g0"] }],
        context_window_fallbacks: [{ g0: ["g2"] }],
      };
      const { start, router, clock } = world(deployments, settings, { seed: given.seed });
      let turn = 0;
      for (let call = 0; call < given.calls; call++) {
        clock.pass(given.pauses[call % given.pauses.length] ?? 0);
        const run = start({ model: "g0" });
        const attempts = await playOut(run, {
          router,
          clock,
          deployments,
          outcome: () => given.outcomes[turn++ % given.outcomes.length] ?? fine,
        });
        const groups = 1 + run.fallbacks;
        expect(run.fallbacks).toBeLessThanOrEqual(given.maxFallbacks);
        expect(attempts).toBeLessThanOrEqual(groups * (1 + given.numRetries));
        expect(attempts).toBeLessThanOrEqual(groups + run.retries);
        if (attempts === 0) expect(run.lastError?.retryAfterSeconds).toBeGreaterThan(0);
      }
      for (const { id } of deployments) expect(router.stateOf(id)?.inFlight).toBe(0);
    }),
    { numRuns: 300 },
  );
});
