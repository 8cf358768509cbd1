import fc from "fast-check";
import { untilBeatMs } from "./clock.ts";

test("loops of one interval wake up at the same beats, however long their work takes, and never right after each other", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.integer({ min: 10, max: 3_600_000 }), (nowMs, intervalMs) => {
      const waitMs = untilBeatMs({ monotonicMs: () => nowMs }, intervalMs);
      expect(waitMs).toBeGreaterThanOrEqual(intervalMs / 2);
      expect(waitMs).toBeLessThan(intervalMs * 1.5);
      const beats = (nowMs + waitMs) / intervalMs;
      expect(beats).toBeCloseTo(Math.round(beats), 6);
    }),
  );
});
