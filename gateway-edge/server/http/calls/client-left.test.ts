import { EventEmitter } from "node:events";
import type { CallResponse } from "../../../calls/http-exchange.ts";
import { OpenCalls, WITHOUT_CLIENT_MAX } from "../../../calls/open-calls.ts";
import { endWithClient } from "./client-left.ts";

/** A call whose client leaves before it has read its answer. */
function open(calls: OpenCalls, state: { goesOn: boolean }) {
  const response = Object.assign(new EventEmitter(), { closed: false, writableFinished: false });
  const call = calls.open();
  endWithClient(response as unknown as CallResponse, call, state);
  return { call, leave: () => response.emit("close") };
}

test("a call is over when its client leaves after the answer was stored, and ends when it may not go on", () => {
  const calls = new OpenCalls();
  const state = { goesOn: true };
  const [going, stored] = [open(calls, state), open(calls, state)];
  going.leave();
  expect(going.call.signal.aborted).toBe(false);
  state.goesOn = false;
  stored.leave();
  expect(stored.call.signal.aborted).toBe(true);
  calls.cut();
  // Only the call that goes on was there to be cut.
  expect([going, stored].map(({ call }) => String(call.signal.reason))).toEqual([
    expect.stringContaining("restarting"),
    expect.stringContaining("disconnected"),
  ]);
});

test("a call above the number that may go on ends with its client", () => {
  const calls = new OpenCalls();
  const all = Array.from({ length: WITHOUT_CLIENT_MAX + 1 }, () => open(calls, { goesOn: true }));
  for (const { leave } of all) leave();
  expect(all.filter(({ call }) => call.signal.aborted)).toHaveLength(1);
});
