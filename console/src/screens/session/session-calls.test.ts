import { groupName, groupTagsOf, sessionCalls } from "./session-calls.ts";

const call = (id: string, second: number, latencyMs: number, status = "success") => ({
  id,
  createdAt: new Date(Date.UTC(2026, 10, 17, 4, 0, second)).toISOString(),
  latencyMs,
  status,
});

test("calls of a session are in order of time, each at its place between the first begin and the last end", () => {
  const { calls, spanMs, busyMs, failed } = sessionCalls([call("c", 3, 1000, "error"), call("b", 1, 500), call("a", 0, 2000)]);
  expect(calls.map(({ call: { id } }) => id)).toEqual(["a", "b", "c"]);
  expect(calls.map(({ startPercent, widthPercent, offsetMs }) => [startPercent, widthPercent, offsetMs])).toEqual([
    [0, 50, 0],
    [25, 12.5, 1000],
    [75, 25, 3000],
  ]);
  expect({ spanMs, busyMs, failed }).toEqual({ spanMs: 4000, busyMs: 3500, failed: 1 });
});

test("a call that took no time, and no call at all, have a place without a division by zero", () => {
  expect(sessionCalls([call("a", 0, 0)])).toMatchObject({ spanMs: 0, calls: [{ startPercent: 0, widthPercent: 0 }] });
  expect(sessionCalls([])).toEqual({ calls: [], spanMs: 0, busyMs: 0, failed: 0 });
});

test("the session and the trace of a call are among its tags", () => {
  expect(groupTagsOf(["nightly", "session:a:1", "trace:4bf9"])).toEqual([
    { tag: "session:a:1", group: "session" },
    { tag: "trace:4bf9", group: "trace" },
  ]);
  expect(groupTagsOf(["nightly", "sessions:1"])).toEqual([]);
  expect([groupName("session:a:1"), groupName("trace:4bf9"), groupName("other")]).toEqual(["a:1", "4bf9", "other"]);
});
