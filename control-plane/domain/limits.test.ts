import fc from "fast-check";
import { AddressLimits, type LimitedAction } from "./address-limits.ts";
import { networkOf } from "./client-network.ts";
import { RateWindow } from "./rate-window.ts";
import { Throttle } from "./throttle.ts";

test("a rate window never lets more than the limit into any 60 seconds, and lets the next one in when it says so", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 80 }),
      fc.integer({ min: 1, max: 10 }),
      (gaps, limit) => {
        const window = new RateWindow();
        const admitted: number[] = [];
        let now = 1_000_000;
        for (const gap of gaps) {
          now += gap;
          const wait = window.secondsUntilFits(1, limit, now);
          now += wait * 1000;
          expect(window.secondsUntilFits(1, limit, now)).toBe(0);
          window.add(1, now);
          admitted.push(now);
        }
        // Buckets are whole seconds, so the window is exact to one second.
        for (const at of admitted) expect(admitted.filter((other) => other <= at && other > at - 59_000).length).toBeLessThanOrEqual(limit);
      },
    ),
  );
});

test("after too many attempts a name waits, others do not, and the wait ends", () => {
  const throttle = new Throttle({ limit: 3, windowMs: 1000 });
  for (let attempt = 0; attempt < 3; attempt++) {
    expect(throttle.waitMs("a", attempt)).toBe(0);
    throttle.take("a", attempt);
  }
  expect(throttle.waitMs("a", 10)).toBe(990);
  expect(throttle.waitMs("b", 10)).toBe(0);
  expect(throttle.waitMs("a", 1001)).toBe(0);
});

test("an attempt that is given back counts no more, and the others still do", () => {
  const throttle = new Throttle({ limit: 2, windowMs: 1000 });
  throttle.take("a", 0);
  throttle.take("a", 5);
  expect(throttle.waitMs("a", 5)).toBeGreaterThan(0);
  throttle.giveBack("a", 5);
  throttle.giveBack("a", 7);
  expect(throttle.waitMs("a", 5)).toBe(0);
  throttle.take("a", 6);
  expect(throttle.waitMs("a", 6)).toBe(994);
});

test("a flood of names does not grow the throttle beyond its bound", () => {
  const throttle = new Throttle({ limit: 1, windowMs: 1_000_000, namesMax: 10 });
  for (let name = 0; name < 1000; name++) throttle.take(String(name), name);
  expect(throttle.waitMs("0", 1000)).toBe(0);
  expect(throttle.waitMs("999", 1000)).toBeGreaterThan(0);
});

test.each<[LimitedAction, boolean, number]>([
  ["signUp", true, 20],
  ["resetMail", true, 10],
  ["passwordReset", true, 20],
  ["invitation", true, 100],
  ["signUp", false, 1000],
  ["resetMail", false, 1000],
  ["invitation", false, 1000],
])("%s of one address, exposed %s: %d an hour, and every other address has its own", (action, exposed, limit) => {
  const limits = new AddressLimits({ exposed });
  for (let at = 0; at < limit; at++) limits.take(action, "203.0.113.1", at);
  const wait = { code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 3599 };
  expect(() => limits.take(action, "203.0.113.1", 1000)).toThrow(expect.objectContaining(wait));
  limits.take(action, "203.0.113.2", 1000);
  // A refused action is not counted, so the address goes on when its first one is an hour old.
  limits.take(action, "203.0.113.1", 3_600_000);
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["unknown", "unknown"],
  ["::ffff:203.0.113.7", "::ffff:cb00:7107"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:db8::9", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
])("the client of %s is %s", (address, client) => {
  expect(networkOf(address)).toBe(client);
});
