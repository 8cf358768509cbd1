import { systemClock } from "../../common/clock.ts";
import { readExposition } from "../../common/metrics/exposition-fixture.ts";
import { Federation, Round, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { FederationControl } from "./control.ts";
import { createCoordinatorMetrics } from "./coordinator-metrics.ts";

const COMMIT = { record: "", stateBlob: "", evaluations: [], participants: [], accuracy: undefined, loss: undefined, epsilon: undefined };

function open() {
  let nowMs = 0;
  const state = { round: 1, isLost: false };
  const control = {
    openRound: async () => Round.fromPartial({ round: state.round }),
    recordResult: async () => Round.fromPartial({}),
    commitRound: async () => {
      if (state.isLost) throw new Error("the claim is lost");
      state.round++;
      return Federation.fromPartial({});
    },
    fail: async () => {},
  } as Partial<FederationControl> as FederationControl;
  const metrics = createCoordinatorMetrics({ clock: { ...systemClock, monotonicMs: () => nowMs } });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const text = () => metrics.registry.metrics();
  const lines = async () => (await text()).split("\n");
  return { counted: metrics.counted(control), metrics, state, pass, text, lines };
}

test("rounds, their time and the results in them are counted; a round that is opened again is still the same", async () => {
  const { counted, metrics, pass, text, lines } = open();
  metrics.claims = 2;
  await counted.openRound(["p_1"]);
  pass(4000);
  await counted.openRound(["p_1"]);
  for (const state of ["accepted", "accepted", "failed", "straggler"])
    await counted.recordResult(1, RoundParticipant.fromPartial({ state }));
  pass(2000);
  await counted.commitRound({ ...COMMIT, round: 1 });
  await counted.openRound(["p_1"]);
  await counted.fail({ code: "NOT_ENOUGH_RESULTS", message: "" });
  expect(readExposition(await text()).problems).toEqual([]);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      "tributary_coordinator_claims 2",
      'tributary_coordinator_rounds_total{outcome="committed"} 1',
      'tributary_coordinator_rounds_total{outcome="failed"} 1',
      'tributary_coordinator_updates_total{state="accepted"} 2',
      'tributary_coordinator_updates_total{state="straggler"} 1',
      "tributary_coordinator_round_seconds_sum 6",
      "tributary_coordinator_round_seconds_count 1",
    ]),
  );
});

test("requests for work count by whether they were answered, and the age is the time since the last answer", async () => {
  const { metrics, pass, text, lines } = open();
  const told: string[] = [];
  const health = metrics.watched({
    check: () => ({ status: "ok" }),
    succeeded: () => void told.push("succeeded"),
    failed: (thrown) => void told.push(String(thrown)),
  });
  expect(await lines()).toContain('tributary_coordinator_claim_requests_total{outcome="failed"} 0');
  health.succeeded();
  pass(3000);
  health.failed("no answer");
  metrics.released();
  expect([told, health.check()]).toEqual([["succeeded", "no answer"], { status: "ok" }]);
  expect(readExposition(await text()).problems).toEqual([]);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'tributary_coordinator_claim_requests_total{outcome="answered"} 1',
      'tributary_coordinator_claim_requests_total{outcome="failed"} 1',
      "tributary_coordinator_claim_age_seconds 3",
      "tributary_coordinator_claims_released_total 1",
    ]),
  );
});

test("a federation that fails before its first round has no failed round, and a step that is refused is not counted", async () => {
  const { counted, state, lines } = open();
  await counted.fail({ code: "VALIDATION_ERROR", message: "" });
  state.isLost = true;
  await counted.openRound([]);
  await expect(counted.commitRound({ ...COMMIT, round: 1 })).rejects.toThrow("the claim is lost");
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'tributary_coordinator_rounds_total{outcome="committed"} 0',
      'tributary_coordinator_rounds_total{outcome="failed"} 0',
      "tributary_coordinator_round_seconds_count 0",
    ]),
  );
});
