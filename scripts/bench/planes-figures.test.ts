import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireMongod, startReplicaSet } from "../../test/helpers/mongod.ts";
import { measurePlanes } from "./planes-figures.ts";

test("control planes that settle and grant at the same time write no document of each other, and no transaction waits for another plane", async () => {
  if (!(await requireMongod())) return;
  const folder = mkdtempSync(join(tmpdir(), "tributary-planes-"));
  const set = await startReplicaSet({ nodes: 1, folder });
  try {
    const work = { rounds: 1, rows: 400, grants: 64, warmRows: 800 };
    const [one, two] = await measurePlanes({ uri: set.uri, configurations: [1, 2], ...work });
    expect(one).toMatchObject({ planes: 1, cpuRatio: 1, attempts: 1 });
    expect(two).toMatchObject({ planes: 2, attempts: 1, writtenByTwo: [] });
    // A ledger entry and a usage row for each call, and the leases of both planes.
    expect(two?.written).toBeGreaterThan(2 * (2 * 800 + 64));
    for (const figures of [one, two]) {
      const { rowsPerSecond, grantsPerSecond, cpuSeconds } = figures ?? { rowsPerSecond: 0, grantsPerSecond: 0, cpuSeconds: 0 };
      expect([rowsPerSecond > 0, grantsPerSecond > 0, cpuSeconds > 0]).toEqual([true, true, true]);
    }
  } finally {
    await set.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
