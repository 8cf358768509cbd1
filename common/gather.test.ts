import { type GatherOptions, gather } from "./gather.ts";

/** Batches that are answered when the test says so; each answer is its request doubled. */
function open(options?: GatherOptions) {
  const batches: { requests: number[]; answer(): void; fail(error: Error): void }[] = [];
  const ask = gather((requests: number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ answer: number }[]>();
    batches.push({ requests, answer: () => resolve(requests.map((request) => ({ answer: request * 2 }))), fail: reject });
    return promise;
  }, options);
  const begun = async (count: number) => {
    while (batches.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { ask, batches, begun };
}

test("requests that arrive while a batch is under way are answered together by the next one, each with its own answer", async () => {
  const { ask, batches, begun } = open();
  const first = ask(1);
  await begun(1);
  const others = [ask(2), ask(3), ask(4)];
  batches[0]?.answer();
  expect(await first).toBe(2);
  await begun(2);
  batches[1]?.answer();
  expect(await Promise.all(others)).toEqual([4, 6, 8]);
  expect(batches.map(({ requests }) => requests)).toEqual([[1], [2, 3, 4]]);
});

test("an error of a batch is the outcome of each of its requests, and of no other", async () => {
  const { ask, batches, begun } = open();
  const failing = [ask(1), ask(2)];
  await begun(1);
  const after = ask(3);
  batches[0]?.fail(new Error("gone"));
  const outcomes = await Promise.allSettled(failing);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await begun(2);
  batches[1]?.answer();
  expect(await after).toBe(6);
});

test("a request may fail alone, and one without an outcome fails rather than waiting for ever", async () => {
  const ask = gather(async (requests: string[]) =>
    requests.slice(0, 2).map((answer) => (answer === "bad" ? { error: answer } : { answer })),
  );
  const outcomes = await Promise.allSettled([ask("good"), ask("bad"), ask("left out")]);
  expect(outcomes).toEqual([
    { status: "fulfilled", value: "good" },
    { status: "rejected", reason: "bad" },
    { status: "rejected", reason: expect.objectContaining({ message: expect.stringContaining("no outcome") }) },
  ]);
});

test("a batch that is late does not hold up others: one that hangs costs them the time after which it is late", async () => {
  const { ask, batches, begun } = open({ parallel: 2, lateMs: 1 });
  void ask(1);
  await begun(1);
  const second = ask(2);
  await begun(2);
  const third = ask(3);
  batches[1]?.answer();
  expect(await second).toBe(4);
  await begun(3);
  batches[2]?.answer();
  expect(await third).toBe(6);
});

test("a batch that is not late is alone: those that arrive meanwhile share the next one", async () => {
  const { ask, batches, begun } = open({ parallel: 2, lateMs: 1, clock: { after: () => () => {} } });
  const first = ask(1);
  await begun(1);
  const others = [ask(2), ask(3)];
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches).toHaveLength(1);
  batches[0]?.answer();
  await first;
  await begun(2);
  batches[1]?.answer();
  expect(await Promise.all(others)).toEqual([4, 6]);
});
