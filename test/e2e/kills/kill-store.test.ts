import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openEmbeddedStore } from "../../../control-plane/stores/embedded/store.ts";
import type { Store } from "../../../control-plane/stores/store.ts";
import { printedSeed, printLine, seededRandom } from "../ledger-checks.ts";

const KILLS = 20;
const NUMBERS_PER_RUN = 1_000_000;

const folder = mkdtempSync(join(tmpdir(), "tributary-kill-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(`a store whose process is killed ${KILLS} times keeps every acknowledged transaction whole and none half`, async () => {
  const random = seededRandom(printedSeed("kill -9 of a store"));
  const acknowledged = new Set<number>();
  for (let kill = 0; kill < KILLS; kill++) {
    for (const number of await writeUntilKilled(kill * NUMBERS_PER_RUN, 5 + random() * 120)) acknowledged.add(number);
  }
  const store = openEmbeddedStore(folder);
  try {
    const found = await readBack(store);
    printLine(`kill -9 of a store: ${KILLS} kills, ${acknowledged.size} transactions acknowledged, ${found.size} found`);
    expect(acknowledged.size).toBeGreaterThan(KILLS);
    expect([...acknowledged].filter((number) => !found.has(number))).toEqual([]);
    // Counted inside each transaction: one lost or applied twice would show here.
    expect((await store.get("counters", "transactions"))?.value).toBe(found.size);
  } finally {
    await store.close();
  }
});

/** Numbers that the child acknowledged until it was killed, `afterMs` after its first. */
async function writeUntilKilled(first: number, afterMs: number): Promise<number[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "store-worker.ts"), folder, String(first)]);
  let [printed, problems] = ["", ""];
  child.stderr.on("data", (chunk) => {
    problems += chunk;
  });
  const closed = once(child, "close");
  const begun = new Promise<void>((resolve) => {
    child.stdout.on("data", (chunk) => {
      printed += chunk;
      resolve();
    });
  });
  await Promise.race([begun, closed]);
  await sleep(afterMs);
  child.kill("SIGKILL");
  const [, signal] = await closed;
  if (signal !== "SIGKILL") throw new Error(`the writer ended by itself: ${problems}`);
  // A line cut in two by the kill was never fully said.
  return printed.slice(0, printed.lastIndexOf("\n")).split("\n").map(Number);
}

/** The transactions that are there, each looked at from every record and every index it wrote; throws when one is not whole. */
async function readBack(store: Store): Promise<Set<number>> {
  const found = new Set<number>();
  for await (const { id } of store.scan("settings")) if (id.startsWith("setting-")) found.add(Number(id.slice("setting-".length)));
  const [teams, members] = [new Set<number>(), new Map<number, number>()];
  for await (const team of store.scan("teams", { index: "byOrganization", equals: ["org"] }))
    teams.add(Number(team.id.slice("team-".length)));
  for await (const member of store.scan("teamMembers")) {
    const number = Number(member.teamId.slice("team-".length));
    members.set(number, (members.get(number) ?? 0) + 1);
  }
  expect(teams).toEqual(found);
  expect(new Set(members.keys())).toEqual(found);
  expect(new Set(members.values())).toEqual(new Set([3]));
  for (const number of found) {
    expect((await store.find("teams", "byName", ["org", `team ${number}`]))?.id).toBe(`team-${number}`);
    expect(await store.count("teamMembers", { index: "byTeam", equals: [`team-${number}`] })).toBe(3);
  }
  return found;
}
