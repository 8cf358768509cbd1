import fc from "fast-check";
import { RateWindow } from "./rate-window.ts";

/** What a window has to answer, by the amounts of all seconds. */
class Amounts {
  readonly bySecond = new Map<number, number>();

  change(second: number, changed: (amount: number) => number): void {
    this.bySecond.set(second, changed(this.bySecond.get(second) ?? 0));
  }

  sum(nowSecond: number): number {
    return [...this.bySecond].reduce(
      (sum, [second, amount]) => (second > nowSecond - 60 && second <= nowSecond + 2 ? sum + amount : sum),
      0,
    );
  }

  secondsUntilFits(amount: number, limit: number, nowSecond: number): number {
    for (let wait = 0; wait < 62; wait++) {
      const left = [...this.bySecond].reduce((sum, [second, each]) => (second > nowSecond - 60 + wait ? sum + each : sum), 0);
      if (left + amount <= limit) return wait;
    }
    return 62;
  }
}

const step = fc.oneof(
  fc.record({ type: fc.constant("add" as const), amount: fc.nat(1000), ahead: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ type: fc.constant("takeBack" as const), amount: fc.nat(1500), ago: fc.integer({ min: -2, max: 70 }) }),
  fc.record({ type: fc.constant("wait" as const), ms: fc.oneof(fc.nat(3000), fc.nat(200_000)) }),
);

test("a window has the sum of its last minute and of the seconds ahead, after any amounts, returns and waits", () => {
  fc.assert(
    fc.property(fc.integer({ min: 100_000, max: 10_000_000 }), fc.array(step, { maxLength: 60 }), (startMs, steps) => {
      const [window, amounts] = [new RateWindow(), new Amounts()];
      let nowMs = startMs;
      for (const each of steps) {
        const second = Math.floor(nowMs / 1000);
        if (each.type === "wait") nowMs += each.ms;
        else if (each.type === "add") {
          const counted = window.add(each.amount, nowMs, each.ahead);
          expect(counted).toBe(second + Math.min(each.ahead, 2));
          amounts.change(counted, (amount) => amount + each.amount);
        } else {
          const of = second - each.ago;
          window.takeBack(each.amount, of, nowMs);
          if (of > second - 60) amounts.change(of, (amount) => Math.max(0, amount - each.amount));
        }
        const now = Math.floor(nowMs / 1000);
        expect(window.sum(nowMs)).toBe(amounts.sum(now));
        for (const limit of [0, 500, 1500]) {
          expect(window.secondsUntilFits(1, limit, nowMs)).toBe(amounts.secondsUntilFits(1, limit, now));
        }
      }
    }),
    { numRuns: 500 },
  );
});
