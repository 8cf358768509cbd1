import { type DeploymentInput, failure, fine, runCall, world } from "./routing-fixture.ts";

async function counts(
  deployments: readonly DeploymentInput[],
  settings: object,
  calls: number,
  call: object = {},
): Promise<Record<string, number>> {
  const { start } = world(deployments, settings);
  const served: Record<string, number> = {};
  for (let index = 0; index < calls; index++) for (const id of await runCall(start(call), () => fine)) served[id] = (served[id] ?? 0) + 1;
  return served;
}

test.each(["weight", "rpm", "tpm"])("simple shuffle spreads calls by %s", async (field) => {
  const served = await counts(
    [1, 2, 7].map((value) => ({ id: `d${value}`, params: { [field]: value } })),
    {},
    10_000,
  );
  expect(served["d1"]).toBeGreaterThan(850);
  expect(served["d1"]).toBeLessThan(1150);
  expect(served["d2"]).toBeGreaterThan(1850);
  expect(served["d2"]).toBeLessThan(2150);
});

test("without weights every deployment gets its share", async () => {
  for (const strategy of ["simple-shuffle", "least-busy", "usage-based-routing-v2", "cost-based-routing", "latency-based-routing"]) {
    const served = await counts(
      ["a", "b", "c", "d"].map((id) => ({ id, price: 5n })),
      { routing_strategy: strategy },
      4000,
    );
    for (const id of ["a", "b", "c", "d"]) expect(served[id]).toBeGreaterThan(strategy === "latency-based-routing" ? 400 : 800);
  }
});

test.each(["simple-shuffle", "least-busy", "usage-based-routing-v2", "cost-based-routing", "latency-based-routing"])(
  "%s: a canary gets its share of the calls, however many nodes serve it and however cheap it is",
  async (strategy) => {
    const version = (split: string, weight: number, nodes: number, price: bigint) =>
      Array.from({ length: nodes }, (_, node) => ({ id: `${split}-${node}`, price, params: { split, weight } }));
    const served = await counts([...version("1", 90, 1, 50n), ...version("2", 10, 3, 1n)], { routing_strategy: strategy }, 5000);
    const second = ["2-0", "2-1", "2-2"].map((id) => served[id] ?? 0);
    const canary = second.reduce((sum, calls) => sum + calls, 0);
    expect(canary).toBeGreaterThan(400);
    expect(canary).toBeLessThan(600);
    // Within a version the strategy chooses, and leaves no node out.
    for (const calls of second) expect(calls).toBeGreaterThan(40);
  },
);

test("a weight of 0 takes no calls while another is there, and a retry still reaches it", async () => {
  expect(
    await counts(
      [
        { id: "a", params: { weight: 0 } },
        { id: "b", params: { weight: 1 } },
      ],
      {},
      500,
    ),
  ).toEqual({ b: 500 });
});

test("the lowest order is used first", async () => {
  const deployments = [{ id: "later", params: { order: 2 } }, { id: "first", params: { order: 1 } }, { id: "last" }];
  expect(await counts(deployments, {}, 100)).toEqual({ first: 100 });
});

test("least busy goes where the fewest are in flight", async () => {
  const { start } = world([{ id: "a" }, { id: "b" }, { id: "c" }], { routing_strategy: "least-busy" });
  const open: Record<string, number> = {};
  for (let call = 0; call < 30; call++) {
    const id = String((await start().next())?.deployment.id);
    open[id] = (open[id] ?? 0) + 1;
  }
  expect(open).toEqual({ a: 10, b: 10, c: 10 });
});

test("latency: the slow one is avoided, and tried again after a while", async () => {
  const { start, clock } = world([{ id: "fast" }, { id: "fair" }, { id: "slow" }], { routing_strategy: "latency-based-routing" });
  const latency: Record<string, number> = { fast: 100, fair: 120, slow: 5000 };
  const served: Record<string, number> = {};
  for (let call = 0; call < 2000; call++) {
    clock.pass(5);
    const [id] = await runCall(start({ stream: true }), (attempt) => ({ latencyMs: latency[attempt.deployment.id] ?? 0 }));
    served[String(id)] = (served[String(id)] ?? 0) + 1;
  }
  expect(served["slow"]).toBeLessThan(10);
  expect(served["fast"]).toBeGreaterThan(600);
  latency["slow"] = 10;
  clock.pass(120_000);
  const after = new Set<string>();
  for (let call = 0; call < 50; call++) {
    clock.pass(5);
    for (const id of await runCall(start({ stream: true }), (attempt) => ({ latencyMs: latency[attempt.deployment.id] ?? 0 })))
      after.add(id);
  }
  expect(after).toContain("slow");
});

test("usage: the fewest tokens of this minute, none over its limits", async () => {
  const settings = { routing_strategy: "usage-based-routing-v2" };
  const served = await counts(
    [
      { id: "a", params: { tpm: 100 } },
      { id: "b", params: { tpm: 300 } },
    ],
    settings,
    20,
  );
  expect(served).toEqual({ a: 5, b: 15 });
  const { start, clock } = world([{ id: "a", params: { rpm: 2 } }], settings);
  clock.pass(40_000);
  for (let call = 0; call < 2; call++) expect(await runCall(start(), () => fine)).toEqual(["a"]);
  const over = start();
  expect(await runCall(over, () => fine)).toEqual([]);
  expect(over.lastError).toMatchObject({ code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 20 });
});

test("cost: the cheapest; what has no price comes last; one group may have its own strategy", async () => {
  const deployments = [{ id: "none" }, { id: "dear", price: 9n }, { id: "cheap", price: 2n }];
  expect(await counts(deployments, { routing_strategy: "cost-based-routing" }, 50)).toEqual({ cheap: 50 });
  const groups = [{ group_name: "g", models: ["m"], routing_strategy: "cost-based-routing" }];
  expect(await counts(deployments, { routing_groups: groups }, 50)).toEqual({ cheap: 50 });
});

test("no more calls at once than max_parallel_requests", async () => {
  const { start } = world([{ id: "a", params: { max_parallel_requests: 2 } }]);
  const runs = [start(), start(), start()];
  const attempts = await Promise.all(runs.map((run) => run.next()));
  expect(attempts.map((attempt) => attempt?.deployment.id)).toEqual(["a", "a", undefined]);
  expect(runs[2]?.lastError).toMatchObject({ code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 1 });
});

test("tags choose deployments; without a match those tagged default; without any the request is at fault", async () => {
  const deployments = [
    { id: "free", params: { tags: ["free"] } },
    { id: "both", params: { tags: ["free", "paid"] } },
    { id: "default", params: { tags: ["default"] } },
  ];
  const any = { enable_tag_filtering: true };
  expect(Object.keys(await counts(deployments, any, 50, { tags: ["paid"] }))).toEqual(["both"]);
  expect(Object.keys(await counts(deployments, any, 50, { tags: ["free"] })).sort()).toEqual(["both", "free"]);
  const all = { ...any, tag_filtering_match_any: false };
  expect(Object.keys(await counts(deployments, all, 50, { tags: ["free", "paid"] }))).toEqual(["both"]);
  expect(Object.keys(await counts(deployments, any, 50, { tags: ["x"] }))).toEqual(["default"]);
  expect(Object.keys(await counts(deployments, any, 50))).toEqual(["default"]);
  const run = world(deployments.slice(0, 2), any).start({ tags: ["x"] });
  expect(await run.next()).toBeUndefined();
  expect(run.lastError).toMatchObject({ code: "INVALID_REQUEST", param: "tags" });
});

test("prompts with the same beginning go where they went, per key; a key goes where it went until its time is over", async () => {
  const four = ["a", "b", "c", "d"].map((id) => ({ id }));
  const { start } = world(four, { optional_pre_call_checks: ["prompt_caching"] });
  const ids = async (call: object) => {
    const seen = new Set<string>();
    for (let index = 0; index < 30; index++) for (const id of await runCall(start(call), () => fine)) seen.add(id);
    return seen;
  };
  expect((await ids({ promptHash: "p" })).size).toBe(1);
  expect((await ids({})).size).toBe(4);
  const first = new Set<string>();
  for (let key = 0; key < 40; key++)
    for (const id of await runCall(start({ promptHash: "p", keyId: `k${key}` }), () => fine)) first.add(id);
  expect(first.size).toBe(4);
  const byKey = world(four, { optional_pre_call_checks: ["deployment_affinity"], deployment_affinity_ttl_seconds: 10 });
  const [before] = await runCall(byKey.start(), () => fine);
  expect(await runCall(byKey.start(), () => fine)).toEqual([before]);
  const later = new Set<string>();
  for (let index = 0; index < 40; index++) {
    byKey.clock.pass(10_000);
    for (const id of await runCall(byKey.start(), () => fine)) later.add(id);
  }
  expect(later.size).toBe(4);
});

test("affinity gives way to a cool-down", async () => {
  const { start } = world([{ id: "a" }, { id: "b" }], {
    optional_pre_call_checks: ["deployment_affinity"],
    num_retries: 0,
    allowed_fails: 0,
  });
  const [home] = await runCall(start(), () => fine);
  await runCall(start(), () => failure());
  expect(await runCall(start(), () => fine)).not.toEqual([home]);
});
