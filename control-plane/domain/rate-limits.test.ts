import { withRateLimits } from "./rate-limits.ts";

test("limits are set and taken away by name, and nothing else of the record can be", () => {
  const record = { id: "x", rpm: 5, tpm: 9 };
  expect(withRateLimits(record, undefined)).toEqual(record);
  expect(withRateLimits(record, { set: { rpm: 7, tpm: undefined }, clear: [] })).toEqual({ id: "x", rpm: 7, tpm: 9 });
  expect(withRateLimits(record, { set: { maxParallelRequests: 2 }, clear: ["rpm", "id", "nothing"] })).toEqual({
    id: "x",
    tpm: 9,
    maxParallelRequests: 2,
  });
});
