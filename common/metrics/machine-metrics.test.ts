import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { createAuthority } from "../../cli/certs/issue.ts";
import { readExposition } from "./exposition-fixture.ts";
import { addMachineMetrics } from "./machine-metrics.ts";

async function valuesOf(config: Parameters<typeof addMachineMetrics>[1]) {
  const registry = new Registry();
  addMachineMetrics(registry, config);
  const text = await registry.metrics();
  expect(readExposition(text).problems).toEqual([]);
  const series = text.split("\n").filter((line) => /^[a-z]/.test(line));
  return Object.fromEntries(series.map((line) => line.split(" ") as [string, string]).map(([name, value]) => [name, Number(value)]));
}

test("free space and size are those of the disk of DATA_DIR; of a folder that is not there yet, the disk that it will be on", async () => {
  const { tributary_disk_free_bytes: free, tributary_disk_size_bytes: size } = await valuesOf({ dataDir: tmpdir() });
  const { blocks, bsize } = statfsSync(tmpdir());
  expect(size).toBe(blocks * bsize);
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThan(size ?? 0);
  const later = await valuesOf({ dataDir: join(tmpdir(), "tributary-none", "data") });
  expect(later["tributary_disk_size_bytes"]).toBe(size);
});

test("the certificate's end is in seconds since 1970", async () => {
  const authority = await createAuthority(Date.now());
  const { cert } = await authority.issue({ role: "edge", name: "edge-1" }, { hosts: ["localhost"], days: 3 });
  const { tributary_tls_certificate_expiry_timestamp_seconds: end = 0 } = await valuesOf({
    dataDir: tmpdir(),
    tls: { cert: Buffer.from(cert) },
  });
  expect(end - Date.now() / 1000).toBeGreaterThan(2.5 * 86_400);
  expect(end - Date.now() / 1000).toBeLessThan(3.5 * 86_400);
});
