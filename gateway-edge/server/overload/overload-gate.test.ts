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
  const isRefused = (key = "one", other: Readonly<Record<string, string>> = {}) =>
    gate.refuses({ headers: { authorization: `Bearer ${key}`, ...other } });
  const endTurn = () => {
    for (const end of ends.splice(0)) end();
  };
  /** A sample is due, and its turn takes so long; calls arrive before and in it. */
  const turn = async (turnMs: number) => {
    isRefused();
    endTurn();
    await clock.advance(SAMPLE_MS);
    isRefused();
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

test("the overload is over after a second of short turns, also if calls were refused in them", async () => {
  const { clock, gate, isRefused, endTurn, overload } = fixture();
  await overload();
  const beganMs = clock.monotonicMs();
  let refused = 0;
  while (gate.figures().isOverloaded && clock.monotonicMs() < beganMs + 10_000) {
    await clock.advance(SAMPLE_MS);
    isRefused();
    await clock.advance(TURN_MS_MAX * 0.6);
    if (isRefused()) refused++;
    endTurn();
  }
  expect([gate.figures().isOverloaded, refused > 0, clock.monotonicMs() - beganMs < 2000]).toEqual([false, true, true]);
});

/** More calls than a turn can serve; each takes a millisecond if it is accepted. Returns how many were accepted in each turn. */
async function flood({ clock, gate, isRefused, endTurn }: ReturnType<typeof fixture>, keyOf: (call: number) => string): Promise<number[]> {
  const accepted: number[] = [];
  for (let turns = 0; turns < 80; turns++) {
    await clock.advance(SAMPLE_MS);
    let served = 0;
    for (let call = 0; call < 300; call++) {
      if (isRefused(keyOf(call))) continue;
      served++;
      await clock.advance(1);
    }
    accepted.push(served);
    endTurn();
    expect(gate.figures().isOverloaded).toBe(true);
  }
  return accepted;
}

test("a flood stays refused, and its turns accept calls for little longer than the longest turn", async () => {
  const edge = fixture();
  await edge.overload();
  const accepted = await flood(edge, () => "one");
  expect(Math.max(...accepted)).toBeLessThanOrEqual(TURN_MS_MAX * 1.1);
});

test("two slow turns with idle time between them are not an overload", async () => {
  const { clock, gate, isRefused, endTurn } = fixture();
  for (let slow = 0; slow < 2; slow++) {
    isRefused();
    await clock.advance(SAMPLE_MS);
    await clock.advance(TURN_MS_MAX + 100);
    endTurn();
    await clock.advance(300_000);
  }
  expect(gate.figures()).toEqual({ refused: 0, isOverloaded: false });
});

test("a key with few calls is accepted where one that floods is refused", async () => {
  const { clock, isRefused, endTurn, overload } = fixture();
  await overload();
  const second = async () => {
    const refused = { flood: 0, quiet: 0 };
    for (let turns = 0; turns < 9; turns++) {
      await clock.advance(SAMPLE_MS);
      for (let calls = 0; calls < 100; calls++) isRefused("flood");
      await clock.advance(15);
      for (const key of ["flood", "quiet"] as const) if (isRefused(key)) refused[key]++;
      await clock.advance(TURN_MS_MAX);
      endTurn();
    }
    return refused;
  };
  // The first second shows who calls how often.
  await second();
  const { flood, quiet } = await second();
  // A second begins without a count, so that one call of the flood may pass.
  expect([flood >= 8, quiet]).toEqual([true, 0]);
});

test.each([
  { unsettled: 0, acceptedMax: 16 },
  // Half of the calls pass.
  { unsettled: 32_500, acceptedMax: 8 },
])("with a thousand keys, light ones are accepted for half of the calls within the budget, in proportion: %j", async (example) => {
  const { clock, state, isRefused, endTurn, overload } = fixture();
  await overload();
  state.unsettled = example.unsettled;
  let [key, accepted] = [0, 0];
  for (let turns = 0; turns < 40; turns++) {
    await clock.advance(SAMPLE_MS);
    for (let call = 0; call < TURN_MS_MAX + 10; call++) {
      // The first seconds show who calls how often.
      if (!isRefused(`key number ${key++ % 1000}`) && turns >= 20) accepted++;
      await clock.advance(1);
    }
    endTurn();
  }
  expect([accepted / 20 > 0, accepted / 20 <= example.acceptedMax]).toEqual([true, true]);
});

test("a caller that sends another Bearer token with each call beside its key has one share", async () => {
  const { clock, isRefused, endTurn, overload } = fixture();
  await overload();
  let calls = 0;
  const isFloodRefused = () => isRefused(`no key ${calls++}`, { "x-gw-api-key": "sk-the-same-key-each-time" });
  let accepted = 0;
  for (let turns = 0; turns < 18; turns++) {
    await clock.advance(SAMPLE_MS);
    for (let call = 0; call < 100; call++) isFloodRefused();
    isRefused("quiet");
    await clock.advance(15);
    // The first second shows who calls how often.
    if (turns >= 9) for (let call = 0; call < 10; call++) if (!isFloodRefused()) accepted++;
    await clock.advance(TURN_MS_MAX);
    endTurn();
  }
  expect(accepted).toBeLessThanOrEqual(1);
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
