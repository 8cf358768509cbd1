import { ignore } from "../../common/ignore.ts";

/** Reads the next item while the current one is worked on: a database and this process then work at the same time. */
export async function* readAhead<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = iterator.next();
      void ignore(next, "it is thrown when its item is due");
      yield value;
    }
  } finally {
    await ignore(next, "the reader has left");
    await iterator.return?.();
  }
}
