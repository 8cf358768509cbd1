import fc from "fast-check";
import { AppError } from "../../common/errors.ts";
import type { LeaseRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "../access/clock-fixture.ts";
import type { Held } from "./lease-account.ts";
import { LeaseBook } from "./lease-book.ts";

/** A control plane with so much credit, which answers one question at a time. */
function open({ available = 1_000_000n, isStrict = false } = {}) {
  const clock = fakeClock();
  const state = { available, granted: 0n, asked: [] as LeaseRequest[], failure: undefined as AppError | undefined };
  const lease = async (request: LeaseRequest) => {
    state.asked.push(request);
    await Promise.resolve();
    if (state.failure) throw state.failure;
    const wanted = request.want < state.available ? request.want : state.available;
    state.available -= wanted;
    state.granted += wanted;
    return { generation: 1n, granted: state.granted, lifeMs: 45_000, isStrict, isBlocked: false };
  };
  return { book: new LeaseBook({ access: { lease }, clock, edgeId: "e" }), clock, state };
}

const codeOf = (held: Held | Promise<Held>) =>
  Promise.resolve(held).then(
    ({ amount }) => amount,
    (error: AppError) => error.code,
  );

test("in steady state a call is answered from memory: a thousand calls ask a handful of times", async () => {
  const { book, clock, state } = open({ available: 1_000_000_000n });
  let waited = 0;
  for (let call = 0; call < 1000; call++) {
    const held = book.reserve("org", 1000n);
    if (held instanceof Promise) waited++;
    book.settle("org", await held, 100n);
    await clock.advance(2);
  }
  expect(waited).toBeLessThan(10);
  expect(state.asked.length).toBeLessThan(30);
});

test("an organization with less credit than its calls could take does not have each of them ask: only when half of what it got is spent", async () => {
  const { book, clock, state } = open({ available: 40_000n });
  for (let call = 0; call < 200; call++) {
    book.settle("org", await book.reserve("org", 1000n), 100n);
    await clock.advance(2);
  }
  // 20,000 of 40,000 are spent.
  expect(state.asked.length).toBeLessThan(12);
  for (let call = 0; call < 190; call++) {
    book.settle("org", await book.reserve("org", 1000n), 100n);
    await clock.advance(2);
  }
  // To the end all is to be had.
  expect(await codeOf(book.reserve("org", 1000n))).toBe(1000n);
});

test("calls that came while credit was asked for are answered with it, and do not ask once more", async () => {
  const { book, state } = open();
  const calls = [1, 2, 3, 4, 5].map(() => book.reserve("org", 10n));
  while (state.asked.length < 2) await Promise.resolve();
  const later = book.reserve("org", 10n);
  expect(later).toBeInstanceOf(Promise);
  expect(await Promise.all([...calls, later].map(codeOf))).toEqual([10n, 10n, 10n, 10n, 10n, 10n]);
  expect(state.asked.map(({ need }) => need)).toEqual([10n, 40n]);
});

test("a call now and then takes what it needs and no more, and all the rest goes back", async () => {
  const { book, clock, state } = open();
  const held = await book.reserve("org", 500n);
  expect(state.asked).toMatchObject([{ need: 500n, want: 500n }]);
  book.settle("org", held, 20n);
  expect(book.hasExcess()).toBe(true);
  expect(book.returns()).toEqual([{ organizationId: "org", generation: 1n, released: 480n }]);
  // The return is repeated in every request, in case one is lost; it stays the same, until the control plane has it.
  expect(book.returns()).toEqual([{ organizationId: "org", generation: 1n, released: 480n }]);
  book.acknowledge([{ organizationId: "org", generation: 1n, released: 480n }]);
  expect(book.returns()).toEqual([]);
  book.settle("org", await book.reserve("org", 500n), 20n);
  expect(book.returns()).toEqual([{ organizationId: "org", generation: 1n, released: 960n }]);
  await clock.advance(60_000);
  book.renew(15_000);
  expect(book.returns()).toEqual([]);
});

test("a report names the organizations that returned credit since the last one, not all that have a lease", async () => {
  const { book, clock } = open({ available: 1_000_000_000n });
  for (let index = 0; index < 500; index++) {
    book.settle(`org_${index}`, await book.reserve(`org_${index}`, 500n), 20n);
    const returns = book.returns();
    expect(returns.map(({ organizationId }) => organizationId)).toEqual([`org_${index}`]);
    book.acknowledge(returns);
    await clock.advance(10);
    book.renew(15_000);
  }
  expect(book.figures().usable).toBe(500);
  expect([...book.organizations()]).toEqual([]);
});

test("what was spent and given back of a lease is remembered as long as the control plane may renew it: nothing is spent twice", async () => {
  const { book, clock, state } = open();
  book.settle("org", await book.reserve("org", 500n), 20n);
  book.returns();
  // Over at this edge, and still alive at the control plane.
  await clock.advance(50_000);
  book.renew(15_000);
  await book.reserve("org", 100n);
  expect(state.asked.at(-1)).toMatchObject({ need: 100n, generation: 1n, released: 480n });
  expect(book.hasExcess()).toBe(false);
  // The request for credit reported it.
  expect(book.returns()).toEqual([]);
});

test("near the end the first gets its worst case, the next what is left, the others nothing", async () => {
  const { book } = open({ available: 150n });
  const calls = [100n, 100n, 100n].map((worstCase) => codeOf(book.reserve("org", worstCase)));
  expect(await Promise.all(calls)).toEqual([100n, 50n, "QUOTA_EXCEEDED"]);
});

test("strict: a call whose worst case does not fit is refused, one that fits is not", async () => {
  const { book } = open({ available: 150n, isStrict: true });
  const calls = [100n, 100n, 50n].map((worstCase) => codeOf(book.reserve("org", worstCase)));
  expect(await Promise.all(calls)).toEqual([100n, "QUOTA_EXCEEDED", 50n]);
});

test("without a control plane calls go on while the lease lasts; then they are refused, and afterwards all is well again", async () => {
  const { book, state } = open();
  for (let call = 0; call < 10; call++) book.settle("org", await book.reserve("org", 10n), 0n);
  state.failure = new AppError("UNAVAILABLE", "away");
  expect(await codeOf(book.reserve("org", 10n))).toBe(10n);
  expect(await codeOf(book.reserve("org", 10_000n))).toBe("UNAVAILABLE");
  state.failure = undefined;
  expect(await codeOf(book.reserve("org", 10_000n))).toBe(10_000n);
});

test("a lease with a long call is renewed", async () => {
  const { book, clock, state } = open();
  await book.reserve("org", 10n);
  await clock.advance(16_000);
  book.renew(15_000);
  await Promise.resolve();
  expect(state.asked).toHaveLength(2);
  expect(state.asked[1]).toMatchObject({ need: 0n, want: 0n, generation: 1n });
});

test("a call that cost more than it held does not take from the next one", async () => {
  const { book, state } = open({ available: 1000n });
  book.settle("org", await book.reserve("org", 10n), 70n);
  expect(await codeOf(book.reserve("org", 10n))).toBe(10n);
  expect(state.asked[1]).toMatchObject({ need: 70n });
});

test("figures are what usable leases have free and calls hold; an expired lease has nothing free", async () => {
  const { book, clock, state } = open({ available: 1000n });
  expect(book.figures()).toEqual({ usable: 0, free: 0n, held: 0n, waiting: 0 });
  const waiting = book.reserve("org", 10n);
  expect(book.figures()).toEqual({ usable: 0, free: 0n, held: 0n, waiting: 1 });
  const held = await waiting;
  for (let call = 0; call < 5; call++) book.settle("org", await book.reserve("org", 10n), 1n);
  const { free } = book.figures();
  expect(free).toBeGreaterThan(0n);
  expect(book.figures()).toEqual({ usable: 1, free, held: 10n, waiting: 0 });
  expect(free).toBe(state.granted - 10n - 5n);
  book.settle("org", held, 3n);
  expect(book.figures()).toEqual({ usable: 1, free: free + 7n, held: 0n, waiting: 0 });
  await clock.advance(60_000);
  expect(book.figures()).toEqual({ usable: 0, free: 0n, held: 0n, waiting: 0 });
});

test("what is recalled is not spent any more, not even by the next call", async () => {
  const { book, state } = open({ available: 1000n });
  for (let call = 0; call < 10; call++) book.settle("org", await book.reserve("org", 10n), 0n);
  state.available = 0n;
  book.recall("org");
  expect(await codeOf(book.reserve("org", 10n))).toBe("QUOTA_EXCEEDED");
});

test("a call that wants more than there is does not make the edge want it ever after: demand counts what calls got", async () => {
  const { book, clock, state } = open({ available: 1_000_000n });
  for (let call = 0; call < 8; call++) {
    book.settle("org", await book.reserve("org", 2n ** 70n), 1n);
    await clock.advance(2);
  }
  for (const { need, want } of state.asked) expect([need < 2n ** 63n, want < 2n ** 63n]).toEqual([true, true]);
  // More than half of what is free: the edge asks ahead.
  await book.reserve("org", 600_000n);
  const { need, want } = state.asked.at(-1) ?? {};
  // Eight calls that held a million each, twice, and this one, forty seconds ahead.
  expect([need, (want ?? 0n) <= (2n * 8_000_000n + 600_000n) * 40n]).toEqual([0n, true]);
});

test("whatever calls may cost, and however many come at once, a lease asks for amounts that a message can carry", async () => {
  const INT64_MAX = 2n ** 63n - 1n;
  const call = fc.record({
    worstCase: fc.bigInt({ min: 0n, max: 2n ** 80n }),
    cost: fc.bigInt({ min: 0n, max: 2n ** 53n }),
    waitMs: fc.nat(600),
  });
  const property = fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 30 }), fc.boolean(), async (calls, atOnce) => {
    const { book, clock, state } = open({ available: INT64_MAX / 2n });
    const made = calls.map(({ worstCase, cost, waitMs }) => async () => {
      const held = await Promise.resolve(book.reserve("org", worstCase)).catch(() => undefined);
      if (held) book.settle("org", held, cost);
      await clock.advance(waitMs);
      book.returns();
    });
    if (atOnce) await Promise.all(made.map((make) => make()));
    else for (const make of made) await make();
    for (const { need, want, released, free } of state.asked)
      for (const amount of [need, want, released, free]) expect(amount >= 0n && amount <= INT64_MAX).toBe(true);
  });
  await fc.assert(property, { numRuns: 50 });
});
