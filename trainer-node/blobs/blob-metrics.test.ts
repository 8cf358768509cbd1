import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { systemClock } from "../../common/clock.ts";
import { addBlobMetrics } from "./blob-metrics.ts";

test("blobs are counted with their bytes, once a minute; other files and a folder that is not there are nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-blobs-"));
  let nowMs = 0;
  const registry = new Registry();
  addBlobMetrics(registry, { folder, clock: { ...systemClock, monotonicMs: () => nowMs } });
  const figures = async () => (await registry.metrics()).split("\n").filter((line) => /^[a-z]/.test(line));
  try {
    writeFileSync(join(folder, "a".repeat(64)), "four");
    writeFileSync(join(folder, ".partial-1"), "not yet");
    expect(await figures()).toEqual(["tributary_blob_files 1", "tributary_blob_bytes 4"]);
    writeFileSync(join(folder, "b".repeat(64)), "more");
    expect(await figures()).toEqual(["tributary_blob_files 1", "tributary_blob_bytes 4"]);
    nowMs += 60_000;
    expect(await figures()).toEqual(["tributary_blob_files 2", "tributary_blob_bytes 8"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  nowMs += 60_000;
  expect(await figures()).toEqual(["tributary_blob_files 0", "tributary_blob_bytes 0"]);
});
