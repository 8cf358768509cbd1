import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../common/clock.ts";
import { dropOldPlans, readPlan, writePlan } from "../secure/plan.ts";
import { openBlobFolder } from "./blob-folder.ts";
import { folderPlace, sweepBlobs } from "./sweep-blobs.ts";

const HOUR_MS = 3_600_000;
const signal = new AbortController().signal;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-sweep-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A blob of so many hours ago. */
async function blob(text: string, hours: number): Promise<string> {
  const { sha256 } = await openBlobFolder({ folder, bytesMax: 1000 }).keepBytes(Buffer.from(text));
  age(sha256, hours);
  return sha256;
}

function age(name: string, hours: number): void {
  const at = new Date(Date.now() - hours * HOUR_MS);
  utimesSync(join(folder, name), at, at);
}

/** A control plane that tells of uses in pages of one. */
function sweep(used: readonly string[], oldestWorkAt?: Date) {
  const listBlobUses = async ({ after }: { after: string }) => {
    const at = after === "" ? 0 : Number(after);
    return { blobs: used.slice(at, at + 1), next: at + 1 < used.length ? String(at + 1) : "", oldestWorkAt };
  };
  return sweepBlobs(
    { place: folderPlace(openBlobFolder({ folder, bytesMax: 1000 })), client: { listBlobUses }, clock, ageMs: HOUR_MS },
    signal,
  );
}

test("what nothing refers to is removed when it is older than an hour; what something refers to and what is young stays", async () => {
  const [used, other, orphan, young] = [await blob("a", 50), await blob("b", 2), await blob("c", 2), await blob("d", 0.5)];
  writeFileSync(join(folder, ".partial-1"), "broken off");
  age(".partial-1", 3);
  writeFileSync(join(folder, "not a blob"), "somebody else's");
  age("not a blob", 99);
  expect((await sweep([used, other])).sort()).toEqual([".partial-1", orphan].sort());
  expect(readdirSync(folder).sort()).toEqual([used, other, young, "not a blob"].sort());
});

test("what a tenant uploaded stays until the tenant deletes it; what its federation made goes, and no longer counts for it", async () => {
  const blobs = openBlobFolder({ folder, bytesMax: 1000 }).of("org_ann");
  const uploaded = await blobs.keep(chunk("uploaded"), { origin: "stored" });
  const made = await blobs.keepBytes(Buffer.from("made"));
  for (const { sha256 } of [uploaded, made]) age(sha256, 5);
  const listBlobUses = async () => ({ blobs: [], next: "", oldestWorkAt: undefined });
  const sweepNow = () => sweepBlobs({ place: folderPlace(blobs), client: { listBlobUses }, clock, ageMs: HOUR_MS }, signal);
  expect(blobs.owners.use("org_ann").used).toBe(12);
  expect(await sweepNow()).toEqual([made.sha256]);
  expect(blobs.owners.use("org_ann").used).toBe(8);
  blobs.owners.drop("org_ann", uploaded.sha256);
  expect(await sweepNow()).toEqual([uploaded.sha256]);
  expect(openBlobFolder({ folder, bytesMax: 1000 }).owners.use("org_ann").used).toBe(0);
});

async function* chunk(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test("what was made since the oldest open round began stays: its commit may still refer to it", async () => {
  const [before, since] = [await blob("before", 5), await blob("since", 2)];
  expect(await sweep([], new Date(Date.now() - 3 * HOUR_MS))).toEqual([before]);
  expect(readdirSync(folder)).toEqual([since]);
});

test("the plan of a secure round stays for two days", async () => {
  const plan = { everybody: [], threshold: 2, range: 1, layout: [], weights: {}, samples: {}, partners: [], shares: {} };
  await writePlan({ folder }, { ...plan, round: "fed_1/1" });
  await writePlan({ folder }, { ...plan, round: "fed_1/2" });
  await dropOldPlans({ folder }, Date.now() + 47 * HOUR_MS);
  age("secure-rounds/fed_1%2F1.json", 49);
  await dropOldPlans({ folder }, Date.now());
  expect(await readPlan({ folder }, "fed_1/1")).toBeUndefined();
  expect(await readPlan({ folder }, "fed_1/2")).toMatchObject({ threshold: 2 });
});

test("a control plane that cannot say what is used costs no blob", async () => {
  await blob("a", 5);
  const listBlobUses = async () => Promise.reject(new Error("away"));
  await expect(
    sweepBlobs({ place: folderPlace(openBlobFolder({ folder, bytesMax: 1000 })), client: { listBlobUses }, clock, ageMs: HOUR_MS }, signal),
  ).rejects.toThrow("away");
  expect(readdirSync(folder)).toHaveLength(1);
});
