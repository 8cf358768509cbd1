import fc from "fast-check";
import { meanMetrics, readMetrics, sampleWeights } from "./metrics.ts";

test("every finite number is kept, also within objects; everything else is left out", () => {
  const f1 = { cat: 1, dog: { old: 2, deep: { deeper: 3 } } };
  const given = { loss: 0.5, f1, nan: Number.NaN, text: "1", list: [1], none: null, ok: true };
  expect(readMetrics(given)).toEqual({ loss: 0.5, "f1/cat": 1, "f1/dog/old": 2 });
  for (const other of [undefined, null, 1, "loss", [1]]) expect(readMetrics(other)).toEqual({});
});

test("names and their number are bounded, more so for participants of large rounds", () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`metric ${index}`, index]));
  expect(Object.keys(readMetrics(many))).toHaveLength(64);
  expect(Object.keys(readMetrics({ ["x".repeat(1000)]: 1, "a\u0000b\n": 2, "": 3 }))).toEqual(["x".repeat(64), "ab"]);
  expect(Object.keys(readMetrics(many, 10_000))).toEqual(["metric 0", "metric 1"]);
});

test("a mean is weighted by samples, over the participants that have the metric", () => {
  const parts = [
    { samples: 30n, metrics: { loss: 1, auc: 0.5 } },
    { samples: 10, metrics: { loss: 2 } },
    { samples: 0, metrics: { loss: 100 } },
  ];
  expect(meanMetrics(parts)).toEqual({ loss: 1.25, auc: 0.5 });
  expect(meanMetrics([...parts.slice(0, 2), { metrics: { loss: 6 } }])["loss"]).toBeCloseTo(3, 12);
  expect(meanMetrics([])).toEqual({});
});

test("0 samples weigh nothing; without all counts, or with no samples at all, all weigh the same", () => {
  expect(sampleWeights([{ samples: 10 }, { samples: 0n }])).toEqual([10, 0]);
  expect(sampleWeights([{ samples: 10 }, {}])).toEqual([1, 1]);
  expect(sampleWeights([{ samples: 0 }, { samples: 0 }])).toEqual([1, 1]);
});

test("a mean is within the least and the greatest value, and equal values give exactly themselves", () => {
  const ten = Array.from({ length: 10 }, () => ({ metrics: { accuracy: 1 } }));
  expect(meanMetrics(ten)).toEqual({ accuracy: 1 });
  const part = fc.record({
    samples: fc.integer({ min: 0, max: 1_000_000_000 }),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }),
  });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 20 }), (parts) => {
      const mean = meanMetrics(parts.map(({ samples, value }) => ({ samples, metrics: { value } })))["value"] as number;
      const isCounted = parts.some(({ samples }) => samples > 0);
      const values = parts.filter(({ samples }) => !isCounted || samples > 0).map(({ value }) => value);
      expect([mean >= Math.min(...values), mean <= Math.max(...values)]).toEqual([true, true]);
    }),
  );
});

test("a metric may have the name of a property that every object inherits", () => {
  const inherited = { samples: 1, metrics: readMetrics({ constructor: 3, toString: 5 }) };
  expect(meanMetrics([inherited, { samples: 9, metrics: { loss: 1 } }])).toEqual({ constructor: 3, toString: 5, loss: 1 });
});
