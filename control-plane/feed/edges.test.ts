import type { Clock } from "../../common/clock.ts";
import { Edges } from "./edges.ts";

function open() {
  let late: (() => void)[] = [];
  const clock = {
    after: (_ms: number, wake: () => void) => {
      late.push(wake);
      return () => {
        late = late.filter((each) => each !== wake);
      };
    },
  } as unknown as Clock;
  const edges = new Edges(clock);
  const state = { done: false };
  return {
    edges,
    state,
    read: () => void edges.caughtUp().then(() => Object.assign(state, { done: true })),
    /** Reads for an organization and notes its name when it may answer. */
    readOf: (name: string, done: string[]) => void edges.caughtUp(name).then(() => done.push(name)),
    timeOut: () => {
      for (const wake of [...late]) wake();
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("an edge is connected while it has a stream, and counts once", () => {
  const { edges } = open();
  const [first, second, other] = [edges.add("a", () => {}), edges.add("a", () => {}), edges.add("b", () => {})];
  expect(edges.connected).toBe(2);
  first?.();
  expect(edges.connected).toBe(2);
  second?.();
  other?.();
  expect(edges.connected).toBe(0);
});

test("a reader waits until every edge has brought what it had", async () => {
  const { edges, state, read } = open();
  const asked: number[] = [];
  edges.add("a", ({ flush }) => asked.push(flush));
  edges.add("b", ({ flush }) => asked.push(flush));
  read();
  await turn();
  expect(asked).toEqual([1, 1]);
  edges.flushed("a", 1);
  await turn();
  expect(state.done).toBe(false);
  edges.flushed("b", 1);
  await turn();
  expect(state.done).toBe(true);
});

test("an edge with two streams is asked once, on the newer one, and is known until both have ended", async () => {
  const { edges, state, read } = open();
  const asked: string[] = [];
  edges.add("a", () => asked.push("older"));
  const forget = edges.add("a", () => asked.push("newer"));
  read();
  expect(asked).toEqual(["newer"]);
  forget();
  await turn();
  expect(state.done).toBe(false);
  edges.flushed("a", 1);
  await turn();
  expect(state.done).toBe(true);
  read();
  expect(asked).toEqual(["newer", "older"]);
});

test("without edges, and when the last one disconnects, a flush does not wait", async () => {
  const { edges, state, read } = open();
  await edges.caughtUp();
  const forget = edges.add("a", () => {});
  read();
  forget();
  await turn();
  expect(state.done).toBe(true);
});

test("an edge that hangs is waited for once, not with every read; when it answers again it is waited for again", async () => {
  const { edges, state, read, timeOut } = open();
  edges.add("a", () => {});
  read();
  await turn();
  expect(state.done).toBe(false);
  timeOut();
  await turn();
  expect(state.done).toBe(true);
  await edges.caughtUp();
  edges.flushed("a", 2);
  state.done = false;
  read();
  await turn();
  expect(state.done).toBe(false);
});

test("a second reader that comes before the edge has answered the first waits too", async () => {
  const { edges, state, read } = open();
  edges.add("a", () => {});
  const first = edges.caughtUp();
  read();
  edges.flushed("a", 1);
  await first;
  await turn();
  expect(state.done).toBe(false);
  edges.flushed("a", 2);
  await turn();
  expect(state.done).toBe(true);
});

test("an answer for one organization does not answer for another, one for all does, and one with a recall is answered by itself", async () => {
  const { edges, readOf } = open();
  const asked: (string | undefined)[] = [];
  const done: string[] = [];
  edges.add("a", ({ organizationId }) => asked.push(organizationId));
  readOf("x", done);
  readOf("y", done);
  void edges.recall("z").then(() => done.push("z"));
  edges.flushed("a", 2);
  await turn();
  expect([asked, done]).toEqual([["x", "y", "z"], ["y"]]);
  void edges.caughtUp();
  edges.flushed("a", 4);
  await turn();
  expect(done).toEqual(["y", "x"]);
  edges.flushed("a", 3);
  await turn();
  expect(done).toEqual(["y", "x", "z"]);
});

test("an edge that cannot bring the calls of one organization delays its readers up to the limit, and is waited for by those of others", async () => {
  const { edges, readOf, timeOut } = open();
  const done: string[] = [];
  edges.add("a", () => {});
  readOf("x", done);
  await turn();
  expect(done).toEqual([]);
  timeOut();
  await turn();
  expect(done).toEqual(["x"]);
  readOf("y", done);
  await turn();
  expect(done).toEqual(["x"]);
  edges.flushed("a", 2);
  await turn();
  expect(done).toEqual(["x", "y"]);
});
