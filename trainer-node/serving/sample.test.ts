import { sample } from "./sample.ts";

const scores = Float32Array.from([0, 2, 1, -Infinity]);
const draw = (sampling: { temperature: number; topP?: number }, count = 2000) => {
  const counts = [0, 0, 0, 0];
  for (let position = 0; position < count; position++) {
    const byte = sample(scores, { topP: 1, seed: 5, ...sampling }, position);
    counts[byte] = (counts[byte] ?? 0) + 1;
  }
  return counts.map((each) => each / count);
};

test("temperature 0 is always the likeliest", () => {
  expect(draw({ temperature: 0 }, 10)).toEqual([0, 1, 0, 0]);
});

test("at temperature 1 bytes come as often as the softmax says, and what cannot be never comes", () => {
  const total = 1 + Math.exp(2) + Math.exp(1);
  const shares = draw({ temperature: 1 });
  [1 / total, Math.exp(2) / total, Math.exp(1) / total].forEach((share, byte) => {
    // Five standard errors of 2,000 draws.
    expect(Math.abs((shares[byte] ?? 0) - share)).toBeLessThan(5 * Math.sqrt((share * (1 - share)) / 2000));
  });
  expect(shares[3]).toBe(0);
});

test("top_p leaves only the likeliest bytes that reach it together", () => {
  expect(draw({ temperature: 1, topP: 0.5 })).toEqual([0, 1, 0, 0]);
  expect(draw({ temperature: 1, topP: 0.8 })[0]).toBe(0);
});
