import { fakeClock } from "../../access/clock-fixture.ts";
import { Watchdog } from "./watchdog.ts";

const LIMITS = { firstTokenMs: 1000, betweenTokensMs: 200, totalMs: 3000 };

function open() {
  const clock = fakeClock();
  let aborted = 0;
  const watchdog = new Watchdog(clock, LIMITS, () => void aborted++);
  return { clock, watchdog, aborted: () => aborted };
}

test("an answer that does not begin in time is aborted once", async () => {
  const { clock, watchdog, aborted } = open();
  await clock.advance(999);
  expect([aborted(), watchdog.timedOut]).toEqual([0, false]);
  await clock.advance(1);
  expect([aborted(), watchdog.timedOut]).toEqual([1, true]);
  await clock.advance(10_000);
  expect(aborted()).toBe(1);
});

test("parts that keep coming keep it alive until the total is used up", async () => {
  const { clock, watchdog, aborted } = open();
  for (let part = 0; part < 19; part++) {
    await clock.advance(150);
    watchdog.received();
  }
  expect(aborted()).toBe(0);
  await clock.advance(150);
  expect(aborted()).toBe(1);
});

test("a silence between two parts is aborted, also soon after the first; one that is stopped never is", async () => {
  const silent = open();
  await silent.clock.advance(10);
  silent.watchdog.received();
  await silent.clock.advance(199);
  expect(silent.aborted()).toBe(0);
  await silent.clock.advance(200);
  expect(silent.aborted()).toBe(1);
  const stopped = open();
  stopped.watchdog.stop();
  await stopped.clock.advance(60_000);
  expect(stopped.aborted()).toBe(0);
});
