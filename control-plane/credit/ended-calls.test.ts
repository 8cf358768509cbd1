import { AppError } from "../../common/errors.ts";
import { EndedCalls, HeldError } from "./ended-calls.ts";

const refused = (limit = "key:a") => new HeldError("RATE_LIMIT_EXCEEDED", "one call at once", { holder: "calls", limit });
const [CALLS, LEASES] = [{ holder: "calls" }, { holder: "leases" }] as const;

/** Edges that answer when they are told to; `over` is what has ended there. */
function open() {
  const state = { asked: [] as string[], answers: [] as (() => void)[], timers: [] as (() => void)[] };
  const ask = (what: string) => (organizationId?: string) => {
    state.asked.push(`${what} ${organizationId}`);
    return new Promise<void>((resolve) => state.answers.push(resolve));
  };
  const ended = new EndedCalls({
    edges: { caughtUp: ask("calls"), recall: ask("leases") },
    clock: {
      after: (_ms, work) => {
        state.timers.push(work);
        return () => {};
      },
    },
  });
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const answer = async () => {
    await turn();
    state.answers.shift()?.();
    await turn();
  };
  return { ended, state, answer, turn };
}

test("a call that what has ended makes possible is not refused; one that is refused for another reason asks nobody", async () => {
  const { ended, state, answer } = open();
  let isOver = false;
  const call = ended.retried("o", async () => {
    if (!isOver) throw refused();
    return "admitted";
  });
  isOver = true;
  await answer();
  expect(await call).toBe("admitted");
  const other = new AppError("TEAM_BLOCKED", "blocked");
  await expect(ended.retried("o", () => Promise.reject(other))).rejects.toBe(other);
  expect(state.asked).toEqual(["calls o"]);
});

test("refusals that come together ask once, those that come meanwhile once more, and each organization by itself", async () => {
  const { ended, state, answer, turn } = open();
  const first = [ended.learn("o", CALLS), ended.learn("o", CALLS), ended.learn("p", LEASES)];
  await turn();
  expect(state.asked).toEqual(["calls o", "leases p"]);
  const later = [ended.learn("o", CALLS), ended.learn("o", CALLS)];
  await turn();
  expect(state.asked).toHaveLength(2);
  await answer();
  await answer();
  expect(await Promise.all(first)).toEqual([true, true, true]);
  await answer();
  expect(await Promise.all(later)).toEqual([true, true]);
  expect(state.asked).toEqual(["calls o", "leases p", "calls o"]);
});

test("a flood of refused calls asks edges in vain once in a tenth of a second", async () => {
  const { ended, state, answer } = open();
  const attempt = () => Promise.reject(refused());
  const first = ended.retried("o", attempt);
  first.catch(() => {});
  await answer();
  await expect(first).rejects.toThrow("one call at once");
  for (let call = 0; call < 50; call++) await expect(ended.retried("o", attempt)).rejects.toThrow("one call at once");
  expect(state.asked).toEqual(["calls o"]);
  for (const work of state.timers) work();
  const next = ended.retried("o", attempt);
  next.catch(() => {});
  await answer();
  await expect(next).rejects.toThrow();
  expect(state.asked).toHaveLength(2);
});

test("a limit that is asked for in vain refuses no call of another limit unasked", async () => {
  const { ended, state, answer } = open();
  const vain = ended.retried("o", () => Promise.reject(refused("key:busy")));
  vain.catch(() => {});
  await answer();
  await expect(vain).rejects.toThrow();
  let isOver = false;
  const other = ended.retried("o", async () => {
    if (!isOver) throw refused("key:quiet");
    return "admitted";
  });
  isOver = true;
  await answer();
  expect(await other).toBe("admitted");
  expect(state.asked).toEqual(["calls o", "calls o"]);
});

test("a question that fails is the failure of those who asked, and the next one is asked", async () => {
  let isBroken = true;
  const caughtUp = async () => {
    if (isBroken) throw new Error("no edge answers");
  };
  const ended = new EndedCalls({ edges: { caughtUp, recall: caughtUp }, clock: { after: () => () => {} } });
  await expect(ended.learn("o", CALLS)).rejects.toThrow("no edge answers");
  isBroken = false;
  expect(await ended.learn("o", CALLS)).toBe(true);
});
