/**
 * A round of opaque parameters in a process of its own: trains and inspects all participants of the arguments at once, then has the first two
 * aggregate. Prints how many bytes the peak of its memory grew by.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import { systemRandom as random } from "../../common/random.ts";
import { openBlobFolder } from "../../trainer-node/coordinator/blobs/blob-folder.ts";
import { createNodeCalls } from "../../trainer-node/coordinator/participants/node-call.ts";
import { createParticipants } from "../../trainer-node/coordinator/participants/participants.ts";
import { inspectBlob } from "../../trainer-node/coordinator/updates/inspect-blob.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-flock-"));
const blobs = openBlobFolder({ folder, bytesMax: 2 ** 30, durable: false });
const { call, close } = createNodeCalls({ clock, random, idleMs: 60_000 });
const participants = createParticipants({ call, blobs });
const { signal } = new AbortController();
const nodes = process.argv.slice(2).map((url) => ({ url, secret: "s", token: "", tenantId: "" }));

/** One round from these parameters; the hash of its result. */
async function round(parameters: string): Promise<string> {
  const updates = await Promise.all(
    nodes.map(async (node, index) => {
      const task = { parameters, dataset: null, config: {}, key: `k${index}`, roundId: "r", clientId: `p${index}` };
      const { blob } = await participants.train(node, task, signal);
      if ((await inspectBlob(blobs, blob)) !== "opaque") throw new Error("the update is not opaque");
      return blob;
    }),
  );
  const results: string[] = [];
  for (const node of nodes.slice(0, 2)) results.push(await participants.aggregate(node, updates, signal));
  if (new Set(updates).size !== nodes.length || new Set(results).size !== 1) throw new Error("the updates or results are not as sent");
  return results[0] ?? "";
}

/** Peak memory of this process since its start. */
function peakBytes(): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

try {
  const atRest = peakBytes();
  await round(await round(""));
  process.stdout.write(String(peakBytes() - atRest));
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
