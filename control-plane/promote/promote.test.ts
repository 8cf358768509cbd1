import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillLedger, plant, purchase, reportedCall, settle } from "../proof/ledger-fixture.ts";
import { type FileStore, openEmbeddedStore } from "../stores/embedded/store.ts";
import { collect } from "../stores/page.ts";
import { ToolProblem } from "../tools/tool.ts";
import { readPosition, refuseUnfinishedCopy } from "./position.ts";
import { promote } from "./promote.ts";

let folder: string;
let source: FileStore;
let target: FileStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-promote-"));
  [source, target] = [openEmbeddedStore(join(folder, "source")), openEmbeddedStore(join(folder, "target"))];
  await source.transaction("settings", async (tx) => {
    await tx.put("settings", { id: "schema", value: "2" });
    await tx.put("settings", { id: "secret-key-fingerprint", value: "finger" });
  });
  await fillLedger(source);
});
afterEach(async () => {
  await Promise.all([source.close(), target.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const signal = AbortSignal.timeout(60_000);
const run = (progress: () => void = () => {}) => promote({ source, target, signal, progress });

test("a copy has every record, and both ledgers are valid and equal", async () => {
  const promoted = await run();
  expect([promoted.source.ok, promoted.target]).toEqual([true, promoted.source]);
  expect(await collect(target.scan("usage"))).toEqual(await collect(source.scan("usage")));
  expect((await collect(target.scan("settings"))).map(({ id }) => id)).toEqual(["schema", "secret-key-fingerprint"]);
  await refuseUnfinishedCopy(target);
});

test("a copy that is interrupted after any of its transactions goes on there, and no control plane starts on it meanwhile", async () => {
  await settle(
    source,
    Array.from({ length: 900 }, (_, place) => reportedCall(`many_${place}`, 1n)),
  );
  let runs = 0;
  for (let done = false; !done; runs++) {
    done = await run(() => {
      throw new Error("killed");
    }).then(
      () => true,
      async (error: Error) => {
        expect(error.message).toBe("killed");
        await expect(refuseUnfinishedCopy(target)).rejects.toThrow("unfinished copy");
        return false;
      },
    );
  }
  expect(runs).toBeGreaterThan(10);
  expect(await target.count("ledger")).toBe(await source.count("ledger"));
});

test("a database with other data is refused and stays as it is", async () => {
  await purchase(target, { organizationId: "org_9", amount: 1n, reference: "mine" });
  await expect(run()).rejects.toThrow("is not empty: it has accounts");
  expect([await target.count("usage"), await readPosition(target)]).toEqual([0, undefined]);
});

test("a copy does not go on after the folder was written to, nor with another folder", async () => {
  const killed = run(() => {
    throw new Error("killed");
  });
  await expect(killed).rejects.toThrow("killed");
  await purchase(source, { organizationId: "org_1", amount: 1n, reference: "later" });
  await expect(run()).rejects.toThrow("was written to since the copy began");
  await plant(source, "settings", "secret-key-fingerprint", { value: "another" });
  await expect(run()).rejects.toThrow("unfinished copy of another folder");
});

test("a wrong ledger is not promoted", async () => {
  await plant(source, "accounts", "org:org_1", { balance: 5n });
  await expect(run()).rejects.toThrow(ToolProblem);
  await expect(refuseUnfinishedCopy(target)).rejects.toThrow("unfinished copy");
});
