import { silentLogger } from "../../../common/logger.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import { OverloadGate } from "./overload-gate.ts";

const TURN_MS_MAX = 50;
const SAMPLE_MS = 50;
/** What a turn is to take in overload. */
const TARGET_MS = TURN_MS_MAX * 0.15;

/** A gate whose event loop takes `turnMs` for each turn, and its calls. */
function fixture({ turnMsMax = TURN_MS_MAX } = {}) {
  const clock = fakeClock();
  const ends: (() => void)[] = [];
  const state = { unsettled: 0, timers: 0, idleMs: 0, starvedMs: 0 };
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
    cpuMs: () => clock.monotonicMs() - state.idleMs - state.starvedMs,
    idleMs: () => state.idleMs,
  });
  const retryAfter = (key: string, other: Readonly<Record<string, string>> = {}) =>
    gate.refusal({ headers: { authorization: `Bearer ${key}`, ...other } });
  const isRefused = (key = "one", other: Readonly<Record<string, string>> = {}) => retryAfter(key, other) !== undefined;
  const endTurn = () => {
    for (const end of ends.splice(0)) end();
  };
  const idle = async (ms: number) => {
    await clock.advance(ms);
    state.idleMs += ms;
  };
  /** Others use the core. */
  const starve = async (ms: number) => {
    await clock.advance(ms);
    state.starvedMs += ms;
  };
  /** A sample is due, and its turn takes so long; calls arrive before and in it. */
  const turn = async (turnMs: number, calls = 10) => {
    isRefused();
    endTurn();
    await clock.advance(SAMPLE_MS);
    for (let call = 0; call < calls; call++) isRefused();
    await clock.advance(turnMs);
    endTurn();
  };
  const overload = async () => {
    for (let samples = 0; samples < 8; samples++) await turn(TURN_MS_MAX + 30);
    expect(gate.figures().isOverloaded).toBe(true);
  };
  return { clock, gate, state, isRefused, retryAfter, endTurn, turn, overload, idle, starve };
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
  await clock.advance(1);
  accepted.push(isRefused());
  await clock.advance(TARGET_MS);
  const refusedBefore = gate.figures().refused;
  expect([accepted, isRefused(), isRefused()]).toEqual([[false, false, false], true, true]);
  expect(gate.figures().refused - refusedBefore).toBe(2);
  endTurn();
  expect(isRefused()).toBe(false);
});

test("the overload is over when the event loop has idle time, also if calls were refused meanwhile", async () => {
  const { clock, gate, isRefused, endTurn, overload, idle } = fixture();
  await overload();
  const [beganMs, refusedBefore] = [clock.monotonicMs(), gate.figures().refused];
  while (gate.figures().isOverloaded && clock.monotonicMs() < beganMs + 10_000) {
    await idle(SAMPLE_MS);
    isRefused();
    await clock.advance(TARGET_MS);
    isRefused();
    endTurn();
  }
  const { isOverloaded, refused } = gate.figures();
  expect([isOverloaded, refused > refusedBefore, clock.monotonicMs() - beganMs < 3000]).toEqual([false, true, true]);
});

test("the overload is over after a second in which no call had to be refused, also if the event loop was never idle", async () => {
  const { clock, gate, isRefused, endTurn, overload } = fixture();
  await overload();
  const beganMs = clock.monotonicMs();
  while (gate.figures().isOverloaded && clock.monotonicMs() < beganMs + 10_000) {
    await clock.advance(SAMPLE_MS);
    isRefused();
    endTurn();
  }
  expect([gate.figures().isOverloaded, clock.monotonicMs() - beganMs < 3000]).toEqual([false, true]);
});

/** More calls than a turn can serve; each that is accepted takes a millisecond at once and `laterMs` in the next turn. Returns the length of each turn. */
async function flood({ clock, gate, isRefused, endTurn }: ReturnType<typeof fixture>, laterMs: number): Promise<number[]> {
  const turnsMs: number[] = [];
  let served = 0;
  for (let turns = 0; turns < 200; turns++) {
    const beganMs = clock.monotonicMs();
    const later = served * laterMs;
    served = 0;
    for (let call = 0; call < 300; call++) {
      if (isRefused()) continue;
      served++;
      await clock.advance(1);
    }
    await clock.advance(later);
    endTurn();
    turnsMs.push(clock.monotonicMs() - beganMs);
    expect(gate.figures().isOverloaded).toBe(true);
  }
  return turnsMs;
}

test.each([0, 1, 3])("a flood stays refused, and its turns are short but not empty; later work of a call: %i ms", async (laterMs) => {
  const edge = fixture();
  await edge.overload();
  const turnsMs = (await flood(edge, laterMs)).slice(100);
  const average = turnsMs.reduce((sum, ms) => sum + ms, 0) / turnsMs.length;
  expect([average > TARGET_MS * 0.6, average < TARGET_MS * 1.4, Math.max(...turnsMs) < TARGET_MS * 2.5]).toEqual([true, true, true]);
});

test("long turns of a machine whose cores others use are no overload while no more than a hundred calls arrive in a turn", async () => {
  const { clock, gate, isRefused, endTurn, starve } = fixture();
  for (let samples = 0; samples < 50; samples++) {
    isRefused();
    endTurn();
    await clock.advance(SAMPLE_MS);
    for (let call = 0; call < 100; call++) isRefused();
    await starve(TURN_MS_MAX * 4);
    endTurn();
  }
  expect(gate.figures()).toEqual({ refused: 0, isOverloaded: false });
});

test("on such a machine more calls than it has time for are an overload, and only time that the edge had counts against them", async () => {
  const { clock, gate, isRefused, endTurn, starve } = fixture();
  for (let samples = 0; samples < 8; samples++) {
    isRefused();
    endTurn();
    await clock.advance(SAMPLE_MS);
    for (let call = 0; call < 200; call++) isRefused();
    await starve(TURN_MS_MAX * 2);
    endTurn();
  }
  expect(gate.figures().isOverloaded).toBe(true);
  isRefused();
  await starve(TURN_MS_MAX * 2);
  expect(isRefused()).toBe(false);
  await clock.advance(TARGET_MS);
  expect(isRefused()).toBe(true);
});

test("a few calls that take long are no overload, because there is nothing to refuse", async () => {
  const { gate, turn } = fixture();
  for (let samples = 0; samples < 8; samples++) await turn(TURN_MS_MAX * 3, 1);
  expect(gate.figures()).toEqual({ refused: 0, isOverloaded: false });
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
  { unsettled: 0, acceptedMax: 4 },
  // Half of the calls pass.
  { unsettled: 32_500, acceptedMax: 2 },
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
    for (let call = 0; call < 10; call++) if (!isFloodRefused() && turns >= 9) accepted++;
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

test("the more callers wait, the longer they are told to wait, so that no more than some hundreds return in a second", async () => {
  const { clock, retryAfter, overload, endTurn } = fixture();
  await overload();
  /** A second in which so many calls are refused, in turns of 50 ms; what they are told. */
  const second = async (refusals: number) => {
    const told: number[] = [];
    for (let turn = 0; turn < 20; turn++) {
      while (told.length < (refusals * (turn + 1)) / 20) {
        const seconds = retryAfter("one");
        if (seconds === undefined) await clock.advance(TARGET_MS);
        else told.push(seconds);
      }
      await clock.advance(50);
      endTurn();
    }
    return told;
  };
  const few = [...(await second(100)), ...(await second(100)), ...(await second(100))];
  expect(new Set(few)).toEqual(new Set([1]));
  await second(1600);
  await second(1600);
  const many = await second(400);
  const average = many.reduce((sum, seconds) => sum + seconds, 0) / many.length;
  expect(average).toBeGreaterThanOrEqual(3.5);
  expect(Math.max(...many)).toBeLessThanOrEqual(15);
  // Callers that are refused together do not return together.
  expect(new Set(many).size).toBeGreaterThanOrEqual(7);
});

test("a key with few calls is told to wait a second, however many calls of another key are refused", async () => {
  const { clock, retryAfter, isRefused, overload, endTurn } = fixture();
  await overload();
  const told = new Map<string, number[]>([
    ["flood", []],
    ["light", []],
  ]);
  for (let turn = 0; turn < 100; turn++) {
    for (let call = 0; call < 20; call++) isRefused("flood");
    await clock.advance(TARGET_MS);
    for (let call = 0; call < 100; call++) isRefused("flood");
    for (const [key, seconds] of told) seconds.push(retryAfter(key) ?? 0);
    await clock.advance(50);
    endTurn();
  }
  expect(Math.max(...(told.get("flood") ?? []))).toBeGreaterThan(1);
  expect(Math.max(...(told.get("light") ?? []))).toBeLessThanOrEqual(1);
});
