import fc from "fast-check";
import type { AppError } from "../../common/errors.ts";
import { type OpenCall, OpenCalls, ShutdownError } from "./open-calls.ts";

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
