import { deployment, failure, fine, routeCall, runCall, settingsJson, world } from "./routing-fixture.ts";

const noCooling = { disable_cooldowns: true };

test("a call that always fails makes exactly 1 + num_retries attempts", async () => {
  for (const retries of [0, 1, 2, 5]) {
    const { start } = world([{ id: "a" }], { num_retries: retries, ...noCooling });
    const run = start();
    expect(await runCall(run, () => failure())).toHaveLength(1 + retries);
    expect(run).toMatchObject({ retries, fallbacks: 0, lastError: { code: "UPSTREAM_UNAVAILABLE" } });
    expect(await run.next()).toBeUndefined();
  }
});

test("every failed attempt is reported with its deployment and the provider's status; one that its client ended is none", async () => {
  const told: [string, number | undefined][] = [];
  const onFailed = (id: string, status: number | undefined) => void told.push([id, status]);
  const { start } = world([{ id: "a" }, { id: "b" }], { num_retries: 1, ...noCooling }, { onFailed });
  const asked = await runCall(start(), () => failure(), 503);
  expect(told).toEqual(asked.map((id) => [id, 503]));
  await runCall(start(), () => "cancelled");
  await runCall(start(), () => fine);
  expect(told).toHaveLength(2);
});

test("the number of retries: request, then deployment, then router_settings, then litellm_settings, then 2", async () => {
  const attempts = async (call: object, params: object, router: object, litellm: object) => {
    const { router: routing } = world([]);
    routing.update([deployment({ id: "a", params })], settingsJson({ ...router, ...noCooling }, litellm));
    return (await runCall(routing.start(routeCall(call)), () => failure())).length - 1;
  };
  expect(await attempts({ numRetries: 1 }, { num_retries: 3 }, { num_retries: 4 }, { num_retries: 5 })).toBe(1);
  expect(await attempts({}, { num_retries: 3 }, { num_retries: 4 }, { num_retries: 5 })).toBe(3);
  expect(await attempts({}, {}, { num_retries: 4 }, { num_retries: 5 })).toBe(4);
  expect(await attempts({}, {}, {}, { num_retries: 5 })).toBe(5);
  expect(await attempts({}, {}, {}, {})).toBe(2);
});

test("a retry policy for the class of error goes before every number, the group's before the router's", async () => {
  const policy = {
    retry_policy: { TimeoutErrorRetries: 4, BadRequestErrorRetries: 1 },
    model_group_retry_policy: { m: { TimeoutErrorRetries: 1 } },
  };
  const { start } = world([{ id: "a" }, { id: "b", name: "n" }], { ...policy, ...noCooling });
  const count = async (model: string, code: "UPSTREAM_TIMEOUT" | "INVALID_REQUEST" | "UPSTREAM_UNAVAILABLE") =>
    (await runCall(start({ model, numRetries: 3 }), () => failure(code))).length;
  expect(await count("m", "UPSTREAM_TIMEOUT")).toBe(2);
  expect(await count("n", "UPSTREAM_TIMEOUT")).toBe(5);
  expect(await count("n", "INVALID_REQUEST")).toBe(2);
  expect(await count("n", "UPSTREAM_UNAVAILABLE")).toBe(4);
});

test.each(["INVALID_REQUEST", "CONTEXT_LENGTH_EXCEEDED", "CONTENT_POLICY_VIOLATION", "SERVER_ERROR", "QUOTA_EXCEEDED"] as const)(
  "%s is not retried",
  async (code) => {
    const { start } = world([{ id: "a" }, { id: "b" }]);
    expect(await runCall(start(), () => failure(code))).toHaveLength(1);
  },
);

test("a retry goes to another deployment at once; only when all were asked it waits, longer each time, with jitter", async () => {
  const { start, clock } = world([{ id: "a" }, { id: "b" }], { num_retries: 7, ...noCooling });
  const asked = await runCall(start(), () => failure());
  expect(asked).toHaveLength(8);
  for (const [index, id] of asked.entries()) if (index > 0) expect(id).not.toBe(asked[index - 1]);
  expect(clock.slept).toHaveLength(3);
  for (const [index, milliseconds] of clock.slept.entries()) {
    expect(milliseconds).toBeGreaterThanOrEqual(250 * 2 ** index);
    expect(milliseconds).toBeLessThanOrEqual(500 * 2 ** index);
  }
});

test("a back-off is never above 8 s, and what the upstream asked for is waited up to a minute, but not longer", async () => {
  const long = world([{ id: "a" }], { num_retries: 10, ...noCooling });
  await runCall(long.start(), () => failure());
  expect(Math.max(...long.clock.slept)).toBeLessThanOrEqual(8000);
  const asked = world([{ id: "a" }], { num_retries: 1 });
  await runCall(asked.start(), () => failure("RATE_LIMIT_EXCEEDED", 30));
  expect(asked.clock.slept[0]).toBeGreaterThanOrEqual(30_000);
  expect(asked.clock.slept[0]).toBeLessThanOrEqual(30_750);
  const tooLong = world([{ id: "a" }], { num_retries: 1 });
  expect(await runCall(tooLong.start(), () => failure("RATE_LIMIT_EXCEEDED", 61))).toEqual(["a"]);
});

test("an aborted back-off ends the run", async () => {
  const { start, router } = world([{ id: "a" }], noCooling);
  const run = start();
  const attempt = await run.next();
  if (attempt) run.failed(attempt, failure(), { visible: false });
  await expect(run.next(AbortSignal.abort(new Error("left")))).rejects.toThrow("left");
  expect(await run.next()).toBeUndefined();
  expect(router.stateOf("a")?.inFlight).toBe(0);
});

test("nothing is tried after visible output", async () => {
  const { start } = world([{ id: "a" }, { id: "b" }], { fallbacks: [{ m: ["n"] }] });
  const run = start();
  const attempt = await run.next();
  if (attempt) run.failed(attempt, failure(), { visible: true });
  expect(await run.next()).toBeUndefined();
});

const groups = ["m", "n", "o", "p", "q", "client", "default"].map((name) => ({ id: `${name}1`, name }));
const chain = { num_retries: 0, fallbacks: [{ m: ["n", "o"] }], default_fallbacks: ["default"], ...noCooling };

test("fallbacks: the client's, then the group's, then the default; each once, each with its own retries", async () => {
  const { start } = world(groups, { ...chain, num_retries: 1 });
  const run = start({ clientFallbacks: [{ model: "client", override: { temperature: 0 } }, "m"] });
  const overrides: unknown[] = [];
  const asked = await runCall(run, (attempt) => {
    overrides.push(attempt.override);
    return failure();
  });
  expect(asked).toEqual(["m1", "m1", "client1", "client1", "n1", "n1", "o1", "o1", "default1", "default1"]);
  expect(overrides[2]).toEqual({ temperature: 0 });
  expect(run).toMatchObject({ retries: 5, fallbacks: 4 });
});

test("fallbacks the caller may not use are left out, those of the client were asked for before; they can be switched off", async () => {
  const { start } = world(groups, chain);
  const mayUse = (model: string) => model === "o";
  expect(await runCall(start({ mayUse, clientFallbacks: ["client"] }), () => failure())).toEqual(["m1", "client1", "o1"]);
  expect(await runCall(start({ disableFallbacks: true, clientFallbacks: ["client"] }), () => failure())).toEqual(["m1"]);
});

test("no more than max_fallbacks groups follow the first, also when lists lead to each other", async () => {
  const ring = groups.map(({ name }, index) => ({ [name]: [groups[(index + 1) % groups.length]?.name] }));
  const { start } = world(groups, { num_retries: 0, fallbacks: ring, max_fallbacks: 3, ...noCooling });
  expect(await runCall(start(), () => failure())).toEqual(["m1", "n1", "o1", "p1"]);
  const all = world(groups, { num_retries: 0, fallbacks: ring, max_fallbacks: 20, ...noCooling });
  expect(await runCall(all.start(), () => failure())).toHaveLength(groups.length);
});

test("too long a prompt and a refused one have fallbacks of their own, and only these", async () => {
  const lists = { context_window_fallbacks: [{ m: ["p"] }], content_policy_fallbacks: [{ m: ["q"] }] };
  const { start } = world(groups, { ...chain, ...lists });
  const tooLong = () => failure("CONTEXT_LENGTH_EXCEEDED");
  expect(await runCall(start({ clientContextFallbacks: new Map([["m", ["client"]]]) }), tooLong)).toEqual(["m1", "client1", "p1"]);
  expect(await runCall(start(), () => failure("CONTENT_POLICY_VIOLATION"))).toEqual(["m1", "q1"]);
  expect(await runCall(start({ model: "n" }), tooLong)).toEqual(["n1"]);
});

test("the context check passes over deployments that are too small, and falls back when all are", async () => {
  const sizes = [
    { id: "small", contextWindow: 100 },
    { id: "large", contextWindow: 1000 },
    { id: "unknown" },
    { id: "huge", name: "n", contextWindow: 100_000 },
  ];
  const settings = { enable_pre_call_checks: true, context_window_fallbacks: [{ m: ["n"] }] };
  const { start } = world(sizes.slice(0, 2).concat(sizes.slice(3)), settings);
  for (let call = 0; call < 20; call++) expect(await runCall(start({ inputTokens: 95 }), () => fine)).toEqual(["large"]);
  expect(await runCall(start({ inputTokens: 5000 }), () => fine)).toEqual(["huge"]);
  const run = start({ inputTokens: 500_000 });
  expect(await runCall(run, () => fine)).toEqual([]);
  expect(run.lastError?.code).toBe("CONTEXT_LENGTH_EXCEEDED");
});

test("an unknown model is not found, and nothing is tried", async () => {
  const run = world(groups, chain).start({ model: "x" });
  expect(await run.next()).toBeUndefined();
  expect(run.lastError?.code).toBe("MODEL_NOT_FOUND");
});

test("a pinned deployment is asked though it cools down, and nothing else is", async () => {
  const { start, router } = world([{ id: "a" }, { id: "b" }, { id: "n1", name: "n" }], {
    num_retries: 0,
    fallbacks: [{ m: ["n"] }],
    allowed_fails: 0,
  });
  expect(await runCall(start({ pinnedDeploymentId: "a" }), () => failure())).toEqual(["a"]);
  expect(router.stateOf("a")?.availability.state).toBe("open");
  expect(await runCall(start({ pinnedDeploymentId: "a" }), () => fine)).toEqual(["a"]);
});

test("timeouts: the nearest setting holds; a stream has a first token, silence and a whole", async () => {
  const { start } = world(
    [
      { id: "a", params: { timeout: 20, stream_timeout: 5 } },
      { id: "b", name: "n" },
    ],
    { timeout: 60 },
  );
  const timeouts = async (call: object) => (await start(call).next())?.timeouts;
  expect(await timeouts({})).toEqual({ connectMs: 10_000, firstTokenMs: 20_000, betweenTokensMs: 20_000, totalMs: 20_000 });
  expect(await timeouts({ timeoutMs: 3000 })).toMatchObject({ connectMs: 3000, totalMs: 3000 });
  expect(await timeouts({ stream: true })).toMatchObject({ firstTokenMs: 5000, betweenTokensMs: 120_000, totalMs: 1_800_000 });
  expect(await timeouts({ model: "n", stream: true })).toMatchObject({ firstTokenMs: 60_000 });
});

test("a request may shorten the configured timeouts, and not lengthen them", async () => {
  const { start } = world([{ id: "a", params: { timeout: 20, stream_timeout: 5 } }]);
  const timeouts = async (call: object) => (await start(call).next())?.timeouts;
  expect(await timeouts({ timeoutMs: 30_000 })).toMatchObject({ firstTokenMs: 20_000, totalMs: 20_000 });
  expect(await timeouts({ streamTimeoutMs: 1000 })).toMatchObject({ firstTokenMs: 20_000, totalMs: 20_000 });
  expect(await timeouts({ stream: true, timeoutMs: 1000 })).toMatchObject({ firstTokenMs: 1000, betweenTokensMs: 120_000 });
  expect(await timeouts({ stream: true, timeoutMs: 1000, streamTimeoutMs: 2000 })).toMatchObject({ firstTokenMs: 2000 });
  expect(await timeouts({ stream: true, timeoutMs: 6000 })).toMatchObject({ firstTokenMs: 5000, totalMs: 1_800_000 });
});

test("a timeout that the request has shortened says nothing about the deployment; the provider's own does", async () => {
  const { start, router } = world([{ id: "a" }], { num_retries: 0, allowed_fails: 0 });
  const state = () => router.stateOf("a")?.availability.state;
  await runCall(start({ timeoutMs: 10 }), () => failure("UPSTREAM_TIMEOUT"));
  expect([state(), router.stateOf("a")?.failed]).toEqual(["closed", 0]);
  await runCall(start({ timeoutMs: 10 }), () => failure("UPSTREAM_TIMEOUT"), 504);
  expect(state()).toBe("open");
});

test("a new table does not change a running call; health stays for deployments that still exist", async () => {
  const { start, router } = world([{ id: "a" }], { num_retries: 1, ...noCooling });
  const run = start();
  const attempt = await run.next();
  router.update([deployment({ id: "b" })], "{}");
  if (attempt) run.failed(attempt, failure(), { visible: false });
  expect(await runCall(run, () => fine)).toEqual(["a"]);
  router.update([deployment({ id: "b" })], "not json");
  expect(router.stateOf("a")).toBeUndefined();
  expect(router.candidates("m").map(({ id }) => id)).toEqual(["b"]);
});
