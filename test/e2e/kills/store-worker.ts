import { openEmbeddedStore } from "../../../control-plane/stores/embedded/store.ts";

/**
 * Writes transactions without end, each of several records in several collections, and prints the number of each once it is
 * acknowledged. Made to be killed; see kill-store.test.ts.
 */
const [folder = "", first = "0"] = process.argv.slice(2);
const store = openEmbeddedStore(folder);

async function writeOne(number: number): Promise<void> {
  await store.transaction("every", async (tx) => {
    const before = await tx.get("counters", "transactions");
    await tx.put("counters", { id: "transactions", value: (before?.value ?? 0) + 1 });
    await tx.insert("settings", { id: `setting-${number}`, value: "x".repeat(100 + (number % 7) * 1_000) });
    await tx.insert("teams", {
      id: `team-${number}`,
      organizationId: "org",
      name: `Team ${number}`,
      nameKey: `team ${number}`,
      createdAt: number,
      updatedAt: number,
    });
    for (const part of [1, 2, 3]) {
      await tx.insert("teamMembers", {
        id: `team-${number}/${part}`,
        teamId: `team-${number}`,
        userId: part,
        role: "owner",
        invitedAt: number,
        joinedAt: number,
      });
    }
  });
  // Node writes to a pipe synchronously: what is printed is out before the next transaction begins.
  process.stdout.write(`${number}\n`);
}

// Several at once, so that a kill finds some waiting, some committed and some being flushed.
const LANES = 4;
await Promise.all(
  Array.from({ length: LANES }, async (_, lane) => {
    for (let number = Number(first) + lane; ; number += LANES) await writeOne(number);
  }),
);
