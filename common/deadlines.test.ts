import { setTimeout as delay } from "node:timers/promises";
import { Deadlines } from "./deadlines.ts";

test("each ends after its own time, the oldest first; what was taken out does not", async () => {
  const ended: string[] = [];
  const deadlines = new Deadlines<string>(60, (entry) => ended.push(entry));
  deadlines.add("first");
  deadlines.add("done");
  await delay(40);
  deadlines.add("second");
  deadlines.delete("done");
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
  for (let entry = 0; entry < 1000; entry++) {
    deadlines.add(entry);
    deadlines.delete(entry);
  }
  expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before);
});
