import { readAll } from "../provider-contract-support.ts";
import { type Expansion, expand } from "./expand.ts";

function source(pieces: readonly number[], { failsAtEnd = false } = {}) {
  const seen = { pulled: 0, returned: 0 };
  const iterator: AsyncIterableIterator<number, undefined> = {
    [Symbol.asyncIterator]: () => iterator,
    next: async () => {
      const value = pieces[seen.pulled++];
      if (value !== undefined) return { done: false, value };
      if (failsAtEnd) throw new Error("reset");
      return { done: true, value: undefined };
    },
    return: async () => {
      seen.returned++;
      return { done: true, value: undefined };
    },
  };
  return { iterator, seen };
}

/** Each number as often as it says; 9 is an error, 7 the last. */
class Repeat implements Expansion<number, string> {
  isDone = false;

  take(count: number): string[] {
    if (count === 9) throw new Error("nine");
    this.isDone = count === 7;
    return Array.from({ length: count }, () => String(count));
  }

  end(): string[] {
    return ["end"];
  }
}

test("every piece becomes its parts in order, none skipped and none pulled before it is asked for", async () => {
  const { iterator, seen } = source([2, 0, 0, 1]);
  const parts = expand(iterator, new Repeat());
  expect([await parts.next(), seen.pulled]).toEqual([{ done: false, value: "2" }, 1]);
  expect([await parts.next(), seen.pulled]).toEqual([{ done: false, value: "2" }, 1]);
  expect(await readAll(parts)).toEqual(["1", "end"]);
  expect([await parts.next(), seen.returned]).toEqual([{ done: true, value: undefined }, 0]);
});

test("an expansion that ends or throws releases its source", async () => {
  const done = source([1, 7, 1]);
  expect(await readAll(expand(done.iterator, new Repeat()))).toEqual(["1", ...Array.from({ length: 7 }, () => "7")]);
  const failed = source([1, 9]);
  const parts = expand(failed.iterator, new Repeat());
  await parts.next();
  await expect(parts.next()).rejects.toThrow("nine");
  expect(await parts.next()).toEqual({ done: true, value: undefined });
  expect([done.seen.returned, failed.seen.returned]).toEqual([1, 1]);
});

test("an error of the source is passed on once; a reader that stops stops the source", async () => {
  const broken = expand(source([1], { failsAtEnd: true }).iterator, new Repeat());
  await broken.next();
  await expect(broken.next()).rejects.toThrow("reset");
  expect(await broken.next()).toEqual({ done: true, value: undefined });
  const left = source([3, 3]);
  for await (const _part of expand(left.iterator, new Repeat())) break;
  expect(left.seen).toEqual({ pulled: 1, returned: 1 });
});

test("what is here is returned without a wait; the end, an error and what is not here are left to next", async () => {
  const here = [2, 0, 1, 9];
  const iterator = { ...source([1, 3]).iterator, ready: () => here.shift() };
  const parts = expand({ [Symbol.asyncIterator]: () => iterator }, new Repeat()) as ReturnType<typeof expand<number, string>> & {
    ready(): string | undefined;
  };
  expect(await parts.next()).toEqual({ done: false, value: "1" });
  expect([parts.ready(), parts.ready(), parts.ready(), parts.ready()]).toEqual(["2", "2", "1", undefined]);
  await expect(parts.next()).rejects.toThrow("nine");
  expect([parts.ready(), await parts.next()]).toEqual([undefined, { done: true, value: undefined }]);
});

test("a reader is woken by its source, but not where there is something for it already", async () => {
  const here = [1, 2, 9];
  const wakes: (() => void)[] = [];
  const iterator = { ...source([1, 0]).iterator, ready: () => here.shift(), wake: (onArrival: () => void) => wakes.push(onArrival) > 0 };
  const parts = expand({ [Symbol.asyncIterator]: () => iterator }, new Repeat()) as ReturnType<typeof expand<number, string>> & {
    ready(): string | undefined;
    wake(onArrival: () => void): boolean;
  };
  const woken = jest.fn();
  await parts.next();
  expect([parts.wake(woken), wakes.length]).toEqual([true, 1]);
  wakes[0]?.();
  expect(woken).toHaveBeenCalledTimes(1);
  expect([parts.ready(), parts.ready(), parts.wake(woken)]).toEqual(["1", "2", false]);
  expect([parts.ready(), parts.ready(), parts.wake(woken)]).toEqual(["2", undefined, false]);
  await expect(parts.next()).rejects.toThrow("nine");
  expect([parts.wake(woken), wakes.length]).toEqual([false, 1]);
});
