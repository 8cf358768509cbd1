import { deployment, failure, fine, runCall, settingsJson, world } from "./routing-fixture.ts";

const pair = [{ id: "a" }, { id: "b" }];
const pinned = (id: string) => ({ pinnedDeploymentId: id, numRetries: 0 });

test("a 429 cools a deployment that has alternatives, for as long as the upstream asked", async () => {
  const { start, router, clock } = world(pair, { num_retries: 0 });
  await runCall(start(pinned("a")), () => failure("RATE_LIMIT_EXCEEDED", 20));
  expect(router.stateOf("a")?.availability.state).toBe("closed");
  const [first] = await runCall(start(), () => failure("RATE_LIMIT_EXCEEDED", 20));
  expect(router.stateOf(String(first))?.availability).toEqual({ state: "open", waitMs: 20_000, cause: "rate-limit" });
  for (let call = 0; call < 50; call++) expect(await runCall(start(), () => fine)).not.toContain(first);
  clock.pass(20_000);
  expect(router.stateOf(String(first))?.availability.state).toBe("closed");
});

test("when all cool down the call is refused with the shortest remaining time, without an upstream request", async () => {
  const { start } = world(pair, { num_retries: 1 });
  let seconds = 10;
  await runCall(start(), () => failure("RATE_LIMIT_EXCEEDED", seconds++));
  const run = start();
  expect(await runCall(run, () => fine)).toEqual([]);
  expect(run.lastError).toMatchObject({ code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 10 });
});

test("when some cool down for failures the refusal is UPSTREAM_UNAVAILABLE, and fallbacks are used", async () => {
  const { start } = world([...pair, { id: "n1", name: "n" }], { num_retries: 1, allowed_fails: 0 });
  await runCall(start(), () => failure());
  const run = start();
  expect(await runCall(run, () => fine)).toEqual([]);
  expect(run.lastError).toMatchObject({ code: "UPSTREAM_UNAVAILABLE", retryAfterSeconds: 5 });
  expect(await runCall(start({ clientFallbacks: ["n"] }), () => fine)).toEqual(["n1"]);
});

test("a refused key cools for a minute; new settings of the deployment end it", async () => {
  const { start, router } = world([{ id: "a", apiKey: "old" }], { num_retries: 2 });
  expect(await runCall(start(), () => failure(), 401)).toEqual(["a"]);
  expect(router.stateOf("a")?.availability).toMatchObject({ state: "open", waitMs: 60_000 });
  router.update([deployment({ id: "a", apiKey: "old" })], "{}");
  expect(router.stateOf("a")?.availability.state).toBe("open");
  router.update([deployment({ id: "a", apiKey: "new" })], "{}");
  expect(router.stateOf("a")?.availability.state).toBe("closed");
});

test("a model that a wildcard's provider does not have cools nothing: callers choose it", async () => {
  const { start, router } = world([{ id: "a", name: "openai/*", model: "*" }]);
  for (let call = 0; call < 30; call++) await runCall(start({ model: "openai/nonsense" }), () => failure("MODEL_NOT_FOUND"), 404);
  expect(router.stateOf("a")?.availability.state).toBe("closed");
  await runCall(start({ model: "openai/x" }), () => failure(), 401);
  expect(router.stateOf("a")?.availability.state).toBe("open");
});

test("a 403 or 404 that one tenant's requests cause does not rest a deployment that answers others", async () => {
  const { start, router, clock } = world([{ id: "a" }], { num_retries: 0 });
  await runCall(start(), () => fine);
  for (const status of [403, 404]) for (let call = 0; call < 30; call++) await runCall(start(), () => failure(), status);
  expect(router.stateOf("a")?.availability.state).toBe("closed");
  // A key that is refused everybody is the operator's to repair.
  await runCall(start(), () => failure(), 401);
  expect(router.stateOf("a")?.availability.state).toBe("open");
  clock.pass(60_000);
  await runCall(start(), () => fine);
  // Without an answer for a minute, it is not the request.
  clock.pass(60_000);
  await runCall(start(), () => failure(), 403);
  expect(router.stateOf("a")?.availability.state).toBe("open");
});

test("requests at fault never cool a deployment", async () => {
  const { start, router } = world(pair, { allowed_fails: 0 });
  for (let call = 0; call < 50; call++) await runCall(start(), () => failure("INVALID_REQUEST"));
  for (const { id } of pair) expect(router.stateOf(id)?.availability.state).toBe("closed");
});

test("more than three failures in a row open the circuit; then one probe decides", async () => {
  const { start, router, clock } = world(pair, { num_retries: 0, cooldown_time: 5 });
  const answer = (id: string) => (id === "a" ? failure() : fine);
  while (router.stateOf("a")?.availability.state !== "open") await runCall(start(), ({ deployment: { id } }) => answer(id));
  expect(router.stateOf("a")?.failed).toBe(4);
  clock.pass(5000);
  expect(router.stateOf("a")?.availability.state).toBe("half-open");
  // One request is let through; until it is answered no other is.
  const probe = await probing(start);
  expect(router.stateOf("a")?.availability.state).toBe("open");
  probe.run.failed(probe.attempt, failure(), { visible: false });
  expect(router.stateOf("a")?.availability).toMatchObject({ state: "open", waitMs: 5000 });
  clock.pass(5000);
  const second = await probing(start);
  second.run.succeeded(second.attempt, { latencyMs: 1, tokens: 1 });
  expect(router.stateOf("a")?.availability.state).toBe("closed");
  // The past is forgotten: it takes more than three again.
  await runCall(start(pinned("a")), () => failure());
  expect(router.stateOf("a")?.availability.state).toBe("closed");
});

test("a probe that never ends, or whose client left, does not keep the circuit open for ever", async () => {
  const { start, router, clock } = world(pair, { num_retries: 0, allowed_fails: 0 });
  while (router.stateOf("a")?.failed !== 1) await runCall(start(), ({ deployment: { id } }) => (id === "a" ? failure() : fine));
  clock.pass(5000);
  const slow = await probing(start);
  clock.pass(5000);
  expect(router.stateOf("a")?.availability.state).toBe("half-open");
  const left = await probing(start);
  left.run.cancelled(left.attempt);
  expect(router.stateOf("a")).toMatchObject({ availability: { state: "half-open" }, inFlight: 1 });
  slow.run.cancelled(slow.attempt);
  expect(router.stateOf("a")?.inFlight).toBe(0);
});

test("a storm of failures begun before the circuit opened does not lengthen the cool-down", async () => {
  const { start, router, clock } = world([{ id: "a" }], { num_retries: 0, allowed_fails: 3 });
  const runs = Array.from({ length: 100 }, () => start());
  const attempts = await Promise.all(runs.map((run) => run.next()));
  clock.pass(1000);
  for (const [index, run] of runs.entries()) {
    clock.pass(10);
    const attempt = attempts[index];
    if (attempt) run.failed(attempt, failure(), { visible: false });
  }
  expect(router.stateOf("a")?.availability).toMatchObject({ state: "open", waitMs: 5000 - 96 * 10 });
});

test("the only deployment of a group stays in use until nearly all of at least 20 requests failed", async () => {
  const { start, router } = world([{ id: "a" }], { num_retries: 0 });
  for (let call = 0; call < 19; call++) await runCall(start(), () => failure());
  expect(router.stateOf("a")?.availability.state).toBe("closed");
  await runCall(start(), () => failure());
  expect(router.stateOf("a")?.availability.state).toBe("open");
});

test("more than half of the requests of a minute open the circuit of one among several", async () => {
  const { start, router } = world(pair, { num_retries: 0 });
  let ofA = 0;
  // Never more than two in a row, two of three.
  while (router.stateOf("a")?.availability.state !== "open" && ofA < 20) {
    await runCall(start(), ({ deployment: { id } }) => (id === "a" && ofA++ % 3 !== 0 ? failure() : fine));
  }
  expect(ofA).toBe(5);
});

test("cool-downs can be switched off, for all or for one", async () => {
  const off = world(pair, { num_retries: 0, disable_cooldowns: true, allowed_fails: 0 });
  const one = world([{ id: "a", params: { cooldown_time: 0 } }, { id: "b" }], { num_retries: 0, allowed_fails: 0 });
  for (const { start, router } of [off, one]) {
    for (let call = 0; call < 20; call++) await runCall(start(pinned("a")), () => failure());
    expect(router.stateOf("a")?.availability.state).toBe("closed");
  }
});

test("allowed fails by class of error", async () => {
  const { start, router } = world([{ id: "a" }], { num_retries: 0, allowed_fails_policy: { TimeoutErrorAllowedFails: 1 } });
  await runCall(start(), () => failure("UPSTREAM_TIMEOUT"));
  expect(router.stateOf("a")?.availability.state).toBe("closed");
  await runCall(start(), () => failure("UPSTREAM_TIMEOUT"));
  expect(router.stateOf("a")?.availability.state).toBe("open");
});

test("requests and tokens of this minute: counted from the start, corrected by the answer, gone with the minute", async () => {
  const { start, router, clock } = world([{ id: "a" }]);
  const run = start({ inputTokens: 70 });
  const attempt = await run.next();
  expect(router.stateOf("a")).toMatchObject({ requestsThisMinute: 1, tokensThisMinute: 70, inFlight: 1 });
  if (attempt) run.succeeded(attempt, { latencyMs: 5, tokens: 100 });
  if (attempt) run.failed(attempt, failure(), { visible: false });
  expect(router.stateOf("a")).toMatchObject({ requestsThisMinute: 1, tokensThisMinute: 100, inFlight: 0, succeeded: 1, failed: 0 });
  clock.pass(60_000);
  expect(router.stateOf("a")).toMatchObject({ requestsThisMinute: 0, tokensThisMinute: 0 });
});

test("settings that cannot be used are as if absent", () => {
  const { router } = world([]);
  router.update(
    [],
    settingsJson({ num_retries: -1, timeout: "30", fallbacks: 7, retry_policy: [], model_group_alias: { a: 1 } }, { num_retries: 4 }),
  );
  expect(router.settings()).toMatchObject({ numRetries: 4, timeoutMs: 30_000, fallbacks: new Map(), retryPolicy: {}, aliases: new Map() });
});

/** Starts calls until one is at `a`; the others end well. */
async function probing(start: ReturnType<typeof world>["start"]) {
  for (;;) {
    const run = start();
    const attempt = await run.next();
    if (attempt?.deployment.id === "a") return { run, attempt };
    if (attempt) run.succeeded(attempt, { latencyMs: 1, tokens: 1 });
  }
}
