import { silentLogger } from "../../../common/logger.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import { OverloadGate } from "./overload-gate.ts";

const TURN_MS_MAX = 50;
const SAMPLE_MS = 50;

/** A gate whose event loop takes `turnMs` for each turn, and its calls. */
function fixture({ turnMsMax = TURN_MS_MAX } = {}) {
  const clock = fakeClock();
  const ends: (() => void)[] = [];
  const state = { unsettled: 0, timers: 0 };
  const after: typeof clock.after = (ms, wake) => {
    state.timers++;
    return clock.after(ms, wake);
  };
  const gate = new OverloadGate({
    clock: { ...clock, after },
    random: { bytes: (count) => Buffer.alloc(count, 7) },
    logger: silentLogger,
    turnMsMax,
    unsettled: () => state.unsettled,
    afterTurn: (wake) => void ends.push(wake),
  });
  const isRefused = (key = "one") => gate.refuses({ headers: { authorization: `Bearer ${key}` } });
  const endTurn = () => {
    for (const end of ends.splice(0)) end();
  };
  /** A sample is due, and its turn takes so long. */
  const turn = async (turnMs: number) => {
    isRefused();
    await clock.advance(SAMPLE_MS);
    await clock.advance(turnMs);
    endTurn();
  };
  const overload = async () => {
    for (let samples = 0; samples < 8; samples++) await turn(TURN_MS_MAX + 30);
    expect(gate.figures().isOverloaded).toBe(true);
  };
  return { clock, gate, state, isRefused, endTurn, turn, overload };
}

test("a burst is served: only turns that are too long for half a second without exception are an overload", async () => {
  const { gate, turn, isRefused } = fixture();
  for (let burst = 0; burst < 10; burst++) {
    for (let samples = 0; samples < 3; samples++) await turn(TURN_MS_MAX + 50);
    await turn(5);
  }
  expect(gate.figures()).toEqual({ refused: 0, isOverloaded: false });
  expect(isRefused()).toBe(false);
});

test("in overload each turn accepts calls in its first milliseconds, and refuses the rest of that turn", async () => {
  const { clock, gate, isRefused, endTurn, overload } = fixture();
  await overload();
  const accepted = [isRefused(), isRefused()];
  await clock.advance(9);
  accepted.push(isRefused());
  await clock.advance(2);
  expect([accepted, isRefused(), isRefused()]).toEqual([[false, false, false], true, true]);
  expect(gate.figures().refused).toBe(2);
  endTurn();
  expect(isRefused()).toBe(false);
});

test("the overload is over after a second without a refusal", async () => {
  const { clock, gate, isRefused, turn, overload } = fixture();
  await overload();
  isRefused();
  await clock.advance(11);
  expect(isRefused()).toBe(true);
  while (gate.figures().isOverloaded && clock.monotonicMs() < 10_000) await turn(5);
  await clock.advance(100);
  expect([gate.figures().isOverloaded, isRefused()]).toEqual([false, false]);
});

test("a key with few calls is accepted where one that floods is refused", async () => {
  const { clock, isRefused, endTurn, overload } = fixture();
  await overload();
  const second = async () => {
    const refused = { flood: 0, quiet: 0 };
    for (let turns = 0; turns < 50; turns++) {
      for (let calls = 0; calls < 100; calls++) isRefused("flood");
      await clock.advance(15);
      for (const key of ["flood", "quiet"] as const) if (isRefused(key)) refused[key]++;
      await clock.advance(5);
      endTurn();
    }
    return refused;
  };
  // The first second shows who calls how often.
  await second();
  const { flood, quiet } = await second();
  // A second begins without a count, so that one call of the flood may pass.
  expect([flood >= 49, quiet]).toEqual([true, 0]);
});

test("calls are refused in proportion when settlement falls behind, and all of them at its limit", async () => {
  const { gate, state, isRefused, turn, endTurn } = fixture();
  state.unsettled = 32_500;
  for (let samples = 0; samples < 15; samples++) await turn(1);
  expect(gate.figures().isOverloaded).toBe(true);
  const refusedOf = (calls: number) => Array.from({ length: calls }, () => isRefused()).filter(Boolean).length;
  expect(refusedOf(100)).toBe(50);
  state.unsettled = 45_000;
  await turn(1);
  endTurn();
  expect(refusedOf(100)).toBe(100);
});

test("an edge without calls has no timer of the gate, and 0 switches the gate off", async () => {
  const { clock, state, isRefused, endTurn } = fixture();
  isRefused();
  for (let samples = 0; samples < 20; samples++) {
    await clock.advance(SAMPLE_MS);
    endTurn();
  }
  expect(state.timers).toBe(1);
  const off = fixture({ turnMsMax: 0 });
  for (let samples = 0; samples < 20; samples++) await off.turn(500);
  expect([off.isRefused(), off.state.timers]).toEqual([false, 0]);
});
