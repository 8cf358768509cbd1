import { setTimeout as delay } from "node:timers/promises";
import { type Deadline, Deadlines } from "./deadlines.ts";

test("each ends after its own time, the oldest first; what was taken out does not", async () => {
  const ended: string[] = [];
  const deadlines = new Deadlines<string>(60, (entry) => ended.push(entry));
  deadlines.add("first");
  const done = deadlines.add("done");
  await delay(40);
  deadlines.add("second");
  deadlines.delete(done);
  deadlines.delete(done);
  await delay(40);
  expect(ended).toEqual(["first"]);
  await delay(60);
  expect(ended).toEqual(["first", "second"]);
  deadlines.add("third");
  await delay(90);
  expect(ended).toEqual(["first", "second", "third"]);
});

test("what is added while another ends does not delay those before it", async () => {
  const ended: string[] = [];
  const deadlines = new Deadlines<string>(60, (entry) => {
    ended.push(entry);
    if (entry === "first") deadlines.add("again");
  });
  deadlines.add("first");
  await delay(20);
  deadlines.add("second");
  await delay(75);
  expect(ended).toEqual(["first", "second"]);
  await delay(60);
  expect(ended).toEqual(["first", "second", "again"]);
});

test("does not keep the process alive, nor time for what is over", () => {
  const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const deadlines = new Deadlines<number>(60_000, () => {});
  for (let entry = 1; entry <= 1000; entry++) deadlines.delete(deadlines.add(entry));
  expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before);
});

test("whichever is taken out, first, last or between, the others end in their order", async () => {
  const ended: number[] = [];
  const deadlines = new Deadlines<number>(40, (entry) => ended.push(entry));
  const places = [1, 2, 3, 4, 5].map((entry) => deadlines.add(entry));
  for (const index of [0, 2, 4]) deadlines.delete(places[index] as Deadline);
  deadlines.add(6);
  await delay(80);
  expect(ended).toEqual([2, 4, 6]);
});
