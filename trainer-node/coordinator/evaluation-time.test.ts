import { model, openRunFixture, type Script } from "./run-fixture.ts";

const fixture = openRunFixture();
afterAll(() => fixture.close());

const DEADLINE_MS = 500;
const EVALUATION = { accuracy: 0.5, loss: undefined, samples: 1, metrics: { accuracy: 0.5 } };
const train = () => ({ model: model(1) });
const hang = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** Evaluations of participants of which some never answer, with the most of them at a time and how long the round took. */
async function evaluated(settings: object, { hanging, callsMax = 6 }: { hanging: readonly string[]; callsMax?: number }) {
  let [now, most] = [0, 0];
  const evaluate: Script["evaluate"] = async (id, _task, signal) => {
    most = Math.max(most, ++now);
    try {
      if (hanging.includes(id)) return await hang(signal);
      // The later ones answer first.
      await new Promise((resolve) => setTimeout(resolve, 70 - 10 * Number(id.slice(1))));
      return EVALUATION;
    } finally {
      now--;
    }
  };
  const begunMs = performance.now();
  const { problem, rounds } = await fixture.run(
    { deadlineMs: DEADLINE_MS, ...settings },
    { train, evaluate },
    { participants: 6, callsMax },
  );
  expect(problem).toBeUndefined();
  const states = rounds[0]?.evaluations.map(({ participantId, state }) => `${participantId} ${state}`);
  return {
    states,
    most,
    reasons: rounds[0]?.evaluations.map(({ reason }) => reason),
    deadlines: (performance.now() - begunMs) / DEADLINE_MS,
  };
}

describe("sites", () => {
  const sites = { eval: { mode: "sites" } };

  test("are evaluated at the same time, within the limit of calls, and recorded in the order of the participants", async () => {
    const { states, most } = await evaluated(sites, { hanging: [], callsMax: 2 });
    expect(states).toEqual(["p1 done", "p2 done", "p3 done", "p4 done", "p5 done", "p6 done"]);
    expect(most).toBe(2);
  });

  test("have one deadline together, however many of them do not answer", async () => {
    const { states, reasons, deadlines } = await evaluated(sites, { hanging: ["p2", "p3", "p4", "p5"], callsMax: 2 });
    expect(states).toEqual(["p1 done", "p2 failed", "p3 failed", "p4 failed", "p5 failed", "p6 failed"]);
    expect(reasons?.slice(1)).toEqual(new Array(5).fill(`it had not answered after ${DEADLINE_MS} ms`));
    expect(deadlines).toBeLessThan(2);
  });
});

describe("held-out data", () => {
  test("if the first participant does not answer, the others have one deadline together, and the first of them in order counts", async () => {
    const { states, deadlines } = await evaluated({}, { hanging: ["p1", "p2", "p3"] });
    expect(states).toEqual(["p1 failed", "p2 failed", "p3 failed", "p4 done"]);
    expect(deadlines).toBeLessThan(3);
  });

  test("an answer of the next participant is not kept waiting by those behind it", async () => {
    const { states, deadlines } = await evaluated({}, { hanging: ["p1", "p3", "p6"] });
    expect(states).toEqual(["p1 failed", "p2 done"]);
    expect(deadlines).toBeLessThan(2);
  });
});
