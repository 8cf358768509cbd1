import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../../common/clock.ts";
import { CountingLane } from "./counting-lane.ts";
import { CountingPace } from "./counting-pace.ts";
import { countTokens } from "./token-counter.ts";

/** A count that rests whenever it may, and how often it did. */
async function restsOf(countable: Parameters<typeof countTokens>[1]): Promise<number> {
  let rests = 0;
  const pacing = {
    sliceMs: 0,
    rest: async () => {
      rests++;
    },
  };
  await countTokens("gpt-4o", countable, new CountingPace(pacing));
  return rests;
}

test("a count may rest at least every 16,384 characters, whatever the text is, and every few hundred values", async () => {
  const texts = ["a".repeat(200_000), "qzjx".repeat(50_000), "日本語".repeat(60_000), "word ".repeat(40_000)];
  for (const prompt of texts)
    expect([prompt.slice(0, 4), (await restsOf({ prompt })) >= prompt.length / 16_384 - 1]).toEqual([prompt.slice(0, 4), true]);
  const content = Array.from({ length: 100_000 }, () => "a");
  expect(await restsOf({ messages: [{ role: "user", content }] })).toBeGreaterThan(300);
});

/** A clock whose sleeps last one turn of the event loop each. */
function lane(): CountingLane {
  return new CountingLane({ sleep: async () => await turn() } as unknown as Clock);
}

test("long counts have turns one after the other, key after key", async () => {
  const counts = lane();
  const seen: string[] = [];
  const count = async (keyId: string, name: string, slices: number) => {
    const { rest } = counts.pacingOf(keyId);
    for (let slice = 0; slice < slices; slice++) {
      await rest();
      seen.push(name);
    }
  };
  await Promise.all([count("a", "a1", 3), count("a", "a2", 3), count("a", "a3", 3), count("b", "b1", 3)]);
  // Once it waits, the other key has every second turn, however many counts the first one has.
  expect(seen).toEqual(["a1", "a2", "b1", "a3", "b1", "a1", "b1", "a2", "a3", "a1", "a2", "a3"]);
});

test("a key has at most eight long counts at once; the next one is refused, and those of other keys are not", async () => {
  const counts = lane();
  const waiting = Array.from({ length: 8 }, () => counts.pacingOf("a").rest());
  const refused = async () => await counts.pacingOf("a").rest();
  // The first of the eight has its turn at once, so one more may wait.
  waiting.push(counts.pacingOf("a").rest(), counts.pacingOf("b").rest());
  await expect(refused()).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 1 });
  await Promise.all(waiting);
  await refused();
});
