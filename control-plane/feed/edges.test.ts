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
  edges.add("a", (flush) => asked.push(flush));
  edges.add("b", (flush) => asked.push(flush));
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
