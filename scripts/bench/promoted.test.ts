import { spawnSync } from "node:child_process";
import { promotedBytes, TRACE_GC_FLAG } from "./promoted.ts";

test("objects that stay reachable are counted as promoted, and those that are dropped are not", () => {
  const promoted = (script: string) =>
    promotedBytes(spawnSync(process.execPath, [TRACE_GC_FLAG, "-e", script], { encoding: "utf8" }).stdout);
  const objects = 1_000_000;
  const dropped = promoted(`let last; for (let i = 0; i < ${objects}; i++) last = { i, text: [i] };`);
  const kept = promoted(`const all = []; for (let i = 0; i < ${objects}; i++) all.push({ i, text: [i] });`);
  expect(kept).toBeGreaterThan(objects * 5);
  expect(dropped).toBeLessThan(objects);
});
