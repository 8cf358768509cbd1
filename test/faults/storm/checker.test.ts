import { type Books, check, type Evidence, type LoggedRow } from "./checker.ts";
import type { ClientCall } from "./stream-client.ts";

const INPUT = 9;

/** A client that got so many words, one every 20 ms from zero on, and then lost its connection. */
function client(words: number, fields: Partial<ClientCall> = {}): ClientCall {
  const cameAtMs = Array.from({ length: words }, (_, word) => word * 20);
  const answer = { callId: "call_1", status: 200, done: false, error: undefined, finishReason: undefined, costNano: undefined };
  return { name: "a", words, cameAtMs, broken: true, leftAtMs: undefined, ...answer, ...fields };
}

function row(output: number, fields: Partial<LoggedRow> = {}): LoggedRow {
  const cost = INPUT * 1000 + output * 2000;
  return {
    callId: "call_1",
    endUser: "a",
    status: "cancelled",
    errorCode: "GATEWAY_RESTARTED",
    usage: { input: INPUT, output },
    cost,
    ...fields,
  };
}

function problemsOf(calls: { clients: ClientCall[]; rows: LoggedRow[] }, evidence: Partial<Evidence> = {}): readonly string[] {
  const entries = calls.rows.map(({ callId, cost }) => ({ type: "usage", amount: -cost, callId }));
  const spent = calls.rows.reduce((sum, { cost }) => sum + cost, 0);
  const books: Books = { rows: calls.rows, entries: [...entries, { type: "purchase", amount: 1e9, callId: null }], balance: 1e9 - spent };
  const emitted = { words: 200, sentAtMs: Array.from({ length: 200 }, (_, word) => word * 20), ended: false };
  return check(books, { clients: calls.clients, upstream: new Map([["a", [emitted]]]), purchases: [1e9], stops: [], ...evidence }).problems;
}

test.each([
  ["the last note, at most one note less than what came", client(50), row(20), true],
  ["more than one note less", client(60), row(20), false],
  ["one word more than came", client(50), row(51), false],
  ["one word more than came, by a process that ended it in peace", client(50), row(51, { errorCode: null }), false],
  ["what was on its way to a client that left", client(50, { leftAtMs: 1000 }), row(99, { errorCode: null }), true],
  ["what was sent after the edge must have noticed that", client(50, { leftAtMs: 1000 }), row(105, { errorCode: null }), false],
])("a call that was cut is held against the client's own count: billed for %s", (_, called, logged, isFine) => {
  expect(problemsOf({ clients: [called], rows: [logged] })).toHaveLength(isFine ? 0 : 1);
});

test("an edge that was stopped when the client left notices it when it continues", () => {
  const calls = { clients: [client(50, { leftAtMs: 1000 })], rows: [row(140, { errorCode: null })] };
  expect(problemsOf(calls, { stops: [{ fromMs: 900, untilMs: 2000 }] })).toEqual([]);
  expect(problemsOf(calls, { stops: [{ fromMs: 100, untilMs: 900 }] })).toHaveLength(1);
});

test("a lost call, a duplicate call and a call that no client made are reported", () => {
  expect(problemsOf({ clients: [client(50)], rows: [] })).toEqual([expect.stringContaining("is lost")]);
  expect(problemsOf({ clients: [client(50)], rows: [row(50), row(50, { callId: "call_2" })] })).toEqual([
    expect.stringContaining("2 times"),
  ]);
  expect(problemsOf({ clients: [], rows: [row(50)] })).toEqual([expect.stringContaining("called by no client")]);
});
