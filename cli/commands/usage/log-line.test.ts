import { hasRoomForIds, logLine } from "./log-line.ts";

const paint = (_tone: string, text: string) => text;
const row = {
  id: "call_1m7fk1d19r3xcw8h7q8cj7d4nb0yaydqn",
  completedAt: "2026-11-15T12:31:13.224Z",
  status: "success",
  httpStatus: 200n,
  model: "a-model-of-a-provider/with-a-long-name",
  apiKeyName: "a key of a person with a long name",
  usage: { input: 12_345n, output: 6789n },
  cost: 6000n,
  latencyMs: 106n,
};
const failed = { ...row, status: "error", httpStatus: 502n, errorCode: "UPSTREAM_TIMEOUT" };

test("a call is one line of the terminal, whatever its width, and an ID is shown whole or not at all", () => {
  for (const columns of [40, 60, 79, 80, 100, 117, 118, 120, 134, 135, 200]) {
    const line = logLine(row, paint, columns);
    expect(Math.max(line.length, logLine(failed, paint, columns).length)).toBeLessThanOrEqual(columns);
    expect([columns, line.includes("call_"), line.includes(row.id)]).toEqual([columns, hasRoomForIds(columns), hasRoomForIds(columns)]);
  }
});

test("the error code of a failed call replaces its tokens on a terminal and has its own column in a file", () => {
  expect(logLine(failed, paint, 80)).toContain("502  a-model-of-a…  a key of …  UPSTREAM_TIMEOUT   $0.000006    106 ms");
  expect(logLine(failed, paint, 140)).toContain("UPSTREAM_TIMEOUT ");
  expect(logLine(failed, paint, undefined)).toMatch(/12345→6789 tokens .* call_\w+ {2}UPSTREAM_TIMEOUT$/);
});

test("a file gets all columns", () => {
  expect(logLine(row, paint, undefined)).toMatch(/^12:31:13 {2}200 .* call_1m7fk1d19r3xcw8h7q8cj7d4nb0yaydqn$/);
});
