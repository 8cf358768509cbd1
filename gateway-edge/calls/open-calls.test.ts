import fc from "fast-check";
import type { AppError } from "../../common/errors.ts";
import { fakeClock } from "../access/clock-fixture.ts";
import { type OpenCall, OpenCalls, ShutdownError, WITHOUT_CLIENT_MAX } from "./open-calls.ts";

test("cut ends exactly the calls that are open, whatever the order in which calls came and went", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 60 }), (steps) => {
      const calls = new OpenCalls();
      const open: OpenCall[] = [];
      const closed: OpenCall[] = [];
      for (const [opens, place] of steps) {
        const leaving = opens ? undefined : open.splice(place % Math.max(open.length, 1), 1)[0];
        if (opens) open.push(calls.open());
        leaving?.close();
        leaving?.close();
        if (leaving) closed.push(leaving);
      }
      calls.cut();
      expect(open.every(({ signal }) => signal.reason instanceof ShutdownError)).toBe(true);
      expect(closed.some(({ signal }) => signal.aborted)).toBe(false);
      // A closed call that referred to another would keep it in memory.
      expect(closed.flatMap((call) => Object.values(call)).filter(Boolean)).toEqual([]);
    }),
  );
});

test("a call whose client left is not cut again, and a stop alone ends no call", () => {
  const calls = new OpenCalls();
  const [left, open] = [calls.open(), calls.open()];
  left.left();
  calls.stop();
  expect([calls.stopping.aborted, open.signal.aborted]).toEqual([true, false]);
  calls.cut();
  expect([left.signal.reason, open.signal.reason].map((reason) => (reason as AppError).code)).toEqual([
    "UPSTREAM_UNAVAILABLE",
    "UNAVAILABLE",
  ]);
});

test("a stopping edge waits for calls that go on without their clients, cuts those that take too long, and does not wait for ever", async () => {
  const calls = new OpenCalls();
  const clock = fakeClock();
  await calls.closed(clock, 1000);
  const [quick, slow] = [calls.open(), calls.open()];
  expect([quick.goOn(), slow.goOn()]).toEqual([true, true]);
  let isClosed = false;
  const closed = calls.closed(clock, 1000).then(() => {
    isClosed = true;
  });
  quick.close();
  await clock.advance(999);
  expect([slow.signal.aborted, isClosed]).toEqual([false, false]);
  await clock.advance(1);
  expect(slow.signal.reason).toBeInstanceOf(ShutdownError);
  slow.close();
  await closed;
  expect(clock.waiting()).toBe(0);

  calls.open();
  const hung = calls.closed(clock, 1000);
  await clock.advance(10_000);
  await hung;
});

test("so many calls go on without their clients, and more when these have ended", () => {
  const calls = new OpenCalls();
  const going = Array.from({ length: WITHOUT_CLIENT_MAX }, () => calls.open());
  expect(going.map((call) => call.goOn())).not.toContain(false);
  const next = calls.open();
  expect(next.goOn()).toBe(false);
  going[0]?.close();
  going[0]?.close();
  expect([next.goOn(), calls.open().goOn()]).toEqual([true, false]);
});
