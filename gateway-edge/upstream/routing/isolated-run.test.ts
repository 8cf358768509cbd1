import { failure, fine, runCall, world } from "./routing-fixture.ts";

const STRATEGIES = ["simple-shuffle", "least-busy", "latency-based-routing", "usage-based-routing", "cost-based-routing"];
const cooling = { num_retries: 0, allowed_fails: 0, cooldown_time: 60 };

describe.each(STRATEGIES)("%s", (routing_strategy) => {
  // Above 16 deployments one is picked before the state of any is read.
  test.each([2, 40])("isolated runs leave no trace at any of %i deployments, and reach all of them", async (count) => {
    const reported: string[] = [];
    const ids = Array.from({ length: count }, (_, place) => ({ id: `d${place}`, params: { rpm: 1, tpm: 20 } }));
    const { start, router } = world(ids, { ...cooling, routing_strategy }, { onFailed: (id) => void reported.push(id) });
    const asked = new Set<string>();
    for (let call = 0; call < count * 20; call++) {
      const outcome = call % 2 === 0 ? failure() : fine;
      for (const id of await runCall(start({ isolation: "whole" }), () => outcome)) asked.add(id);
    }
    expect(asked.size).toBe(count);
    expect(reported).toEqual([]);
    for (const { id } of ids) {
      const state = router.stateOf(id);
      const { availability, inFlight, requestsThisMinute, succeeded, failed, wholeLatency } = state ?? {};
      expect(
        [availability?.state ?? "closed", inFlight, requestsThisMinute, succeeded, failed, wholeLatency].map((each) => each || 0),
      ).toEqual(["closed", 0, 0, 0, 0, 0]);
    }
  });
});

test("a run of which only the outcome is isolated is load of its deployment, and respects its limits", async () => {
  const { start, router } = world([{ id: "a", params: { rpm: 2 } }], {
    ...cooling,
    optional_pre_call_checks: ["enforce_model_rate_limits"],
  });
  await runCall(start({ isolation: "outcome" }), () => failure());
  expect(router.stateOf("a")).toMatchObject({ failed: 0, inFlight: 0, requestsThisMinute: 1, availability: { state: "closed" } });
  await runCall(start({ isolation: "outcome" }), () => fine);
  expect(router.stateOf("a")).toMatchObject({ succeeded: 0, wholeLatency: 0, requestsThisMinute: 2 });
  const third = start({ isolation: "outcome" });
  expect(await runCall(third, () => fine)).toEqual([]);
  expect(third.lastError?.code).toBe("RATE_LIMIT_EXCEEDED");
});

test("isolated retries take nothing from the budget of a group's other calls", async () => {
  const { start } = world([{ id: "a" }, { id: "b" }], { num_retries: 1, disable_cooldowns: true });
  const others = async () => (await runCall(start(), () => failure())).length;
  const alone = await others();
  for (let call = 0; call < 200; call++) await runCall(start({ isolation: "whole" }), () => failure());
  expect([alone, await others()]).toEqual([2, 2]);
});
