import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import { worstCaseCost } from "../../credit/pricing/price.ts";
import { deployment, FakeControl } from "../../server/http/testing/edge-fixture.ts";
import { providers } from "../../upstream/providers/registry.ts";
import { createRouter } from "../../upstream/routing/route.ts";
import { STRATEGIES } from "../../upstream/routing/settings.ts";
import { chatJob } from "./jobs/chat.ts";
import { planCall } from "./plan-call.ts";
import { NO_ROUTING, routeRequest } from "./route-request.ts";

/** The same numbers in every run. */
function seededRandom(): Random {
  let state = 12345;
  return {
    bytes: (count) =>
      Buffer.from(
        Array.from({ length: count }, () => {
          state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
          return (state >> 16) & 0xff;
        }),
      ),
  };
}

/** None is dearer than another in all. */
const pricesAt = (index: number) => ({
  input: 1_000_000_000n + 1_000_000n * BigInt(index),
  output: 9_000_000_000n - 1_000_000n * BigInt(index),
});

interface Options {
  readonly size: number;
  readonly settings?: object;
  readonly paramsOf?: (index: number) => object;
  readonly caller?: Partial<Caller>;
  readonly modelName?: string;
}

/** A group whose deployments count how often something of them is read, and a clock that counts its readers: what a look at one costs. */
function open({ size, settings = {}, paramsOf = () => ({}), caller: bound = {}, modelName = "gpt" }: Options) {
  const work = { count: 0 };
  const counting = <Thing extends object>(thing: Thing): Thing =>
    new Proxy(thing, {
      get(target, name) {
        work.count++;
        return Reflect.get(target, name) as unknown;
      },
    });
  const clock: Clock = counting(fakeClock());
  const routing = createRouter({ clock, random: seededRandom() });
  const info = JSON.stringify({ access_groups: ["beta"] });
  const deployments = Array.from({ length: size }, (_, index): Deployment => {
    const params = JSON.stringify(paramsOf(index));
    const names = { modelName, inferenceModelId: modelName, id: `dep_${index}` };
    return counting(deployment({ ...names, providerKind: "openai", params, info }, pricesAt(index)));
  });
  routing.update(deployments, JSON.stringify({ router_settings: settings }));
  const { caller } = new FakeControl().addKey(bound);
  const deps = { routing, providers, dropParams: () => false };
  const job = chatJob({ model: "gpt", messages: [{ role: "user", content: "hi" }], max_tokens: 9 });
  const plan = () => planCall(deps, { caller, job, alternatives: [], routing: NO_ROUTING });
  const start = () => routing.start(routeRequest(deps, { callId: "call_1", caller, job, routing: NO_ROUTING }, plan()));
  /** One call that succeeds; how much was looked at for it. */
  const call = () => {
    work.count = 0;
    const run = start();
    const attempt = run.next();
    if (attempt instanceof Promise) throw new Error("a call that waits for its first attempt");
    run.succeeded(attempt, { latencyMs: 1, tokens: 2 });
    return { id: attempt.deployment.id, looks: work.count };
  };
  return { call, start, plan };
}

const most = (run: { call(): { looks: number } }) => {
  // The first works out what holds for all.
  run.call();
  return Math.max(...Array.from({ length: 50 }, () => run.call().looks));
};

const KINDS: readonly [string, Omit<Options, "size">][] = [
  ...STRATEGIES.map((strategy): [string, Omit<Options, "size">] => [strategy, { settings: { routing_strategy: strategy } }]),
  ["weights", { paramsOf: (index: number) => ({ weight: 1 + (index % 3) }) }],
  ["pre-call checks", { settings: { enable_pre_call_checks: true } }],
  ["a key bound to an access group", { caller: { models: { names: ["beta"] } } }],
  ["a wildcard", { modelName: "*" }],
];

test.each(KINDS)("with %s a call of a group of 2,000 deployments looks at no more of them than one of 20", (_name, options) => {
  const [small, large] = [most(open({ size: 20, ...options })), most(open({ size: 2000, ...options }))];
  expect(small).toBeGreaterThan(0);
  expect(large).toBeLessThanOrEqual(small * 1.5);
});

test("credit is set aside for the dearest of many prices, whichever deployment is chosen", () => {
  const { plan } = open({ size: 200 });
  const { worstCase, inputTokens } = plan();
  for (let index = 0; index < 200; index++) {
    const prices = pricesAt(index);
    expect(worstCase).toBeGreaterThanOrEqual(worstCaseCost({ input: inputTokens, output: 9 }, prices));
  }
  expect(worstCase).toBe(worstCaseCost({ input: inputTokens, output: 9 }, { input: pricesAt(199).input, output: pricesAt(0).output }));
});

test("in a large group, too, what rests is not called, and the others are by their weights", async () => {
  const { call, start } = open({ size: 20, paramsOf: (index) => ({ weight: index < 10 ? 1 : 3 }) });
  const resting = new Set<string>();
  while (resting.size < 5) {
    const run = start();
    const attempt = await run.next();
    if (!attempt) throw new Error("no attempt");
    run.failed(attempt, new AppError("UPSTREAM_UNAVAILABLE", "refused"), { visible: true, upstreamStatus: 401 });
    resting.add(attempt.deployment.id);
  }
  const CALLS = 8000;
  const counts = new Map<string, number>();
  for (let made = 0; made < CALLS; made++) {
    const { id } = call();
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const weightOf = (id: string) => (Number(id.slice(4)) < 10 ? 1 : 3);
  const awake = Array.from({ length: 20 }, (_, index) => `dep_${index}`).filter((id) => !resting.has(id));
  const total = awake.reduce((sum, id) => sum + weightOf(id), 0);
  expect([...counts.keys()].sort()).toEqual([...awake].sort());
  for (const id of awake) {
    const expected = (CALLS * weightOf(id)) / total;
    expect(Math.abs((counts.get(id) ?? 0) - expected)).toBeLessThan(6 * Math.sqrt(expected));
  }
});
