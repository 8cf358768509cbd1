import { AppError } from "../../common/errors.ts";
import { EndedCalls, HeldError } from "./ended-calls.ts";

const refused = () => new HeldError("RATE_LIMIT_EXCEEDED", "one call at once", { holder: "calls" });

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
  const first = [ended.learn("o", "calls"), ended.learn("o", "calls"), ended.learn("p", "leases")];
  await turn();
  expect(state.asked).toEqual(["calls o", "leases p"]);
  const later = [ended.learn("o", "calls"), ended.learn("o", "calls")];
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
