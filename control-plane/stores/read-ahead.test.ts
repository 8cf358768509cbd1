import { readAhead } from "./read-ahead.ts";

async function* numbers(log: string[], { failAt }: { failAt?: number } = {}): AsyncGenerator<number> {
  try {
    for (let number = 1; number <= 3; number++) {
      log.push(`read ${number}`);
      if (number === failAt) throw new Error(`no ${number}`);
      yield number;
    }
  } finally {
    log.push("closed");
  }
}

test("the next item is being read while one is worked on, and all come in their order", async () => {
  const log: string[] = [];
  for await (const number of readAhead(numbers(log))) log.push(`work ${number}`);
  expect(log).toEqual(["read 1", "read 2", "work 1", "read 3", "work 2", "closed", "work 3"]);
});

test("a failure is thrown when its item is due, after those before it", async () => {
  const worked: number[] = [];
  const all = async () => {
    for await (const number of readAhead(numbers([], { failAt: 2 }))) worked.push(number);
  };
  await expect(all()).rejects.toThrow("no 2");
  expect(worked).toEqual([1]);
});

test("a reader that leaves early closes the source, also if the next item fails", async () => {
  const log: string[] = [];
  for await (const number of readAhead(numbers(log, { failAt: 2 }))) if (number === 1) break;
  expect(log.at(-1)).toBe("closed");
});
