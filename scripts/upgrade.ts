/**
 * `make upgrade`: two releases at once, under load. All control planes and edges of the release before this one are replaced by this one's and
 * back again, one after the other, control planes first each time, so that each release's edges are seen with the other's control planes; then
 * an embedded store changes hands. PLANES, EDGES, LANES and MONGO_NODES change the size, ONLY is `cluster` or
 * `embedded`.
 */
import { startWordUpstream, wordModel } from "../test/faults/storm/word-upstream.ts";
import { startCluster } from "../test/helpers/cluster.ts";
import { type Release, restartAll } from "./cluster/rolling.ts";
import { printReports, underLoad } from "./cluster/under-load.ts";
import { swapEmbedded } from "./upgrade/embedded.ts";
import { PREVIOUS_RELEASE } from "./upgrade/previous-release.ts";
import { releaseCode } from "./upgrade/release-code.ts";

const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const CURRENT: Release = { name: "this", root: undefined };

const code = releaseCode(PREVIOUS_RELEASE.commit);
if ("missing" in code) console.log(`skipped: ${code.missing}`);
else process.exitCode = (await upgrade({ name: PREVIOUS_RELEASE.name, root: code.root })) ? 0 : 1;

async function upgrade(previous: Release): Promise<boolean> {
  console.log(`previous release: ${PREVIOUS_RELEASE.commit}`);
  const only = process.env["ONLY"];
  const outcomes = only === "embedded" ? [] : [await rollOut(previous)];
  if (only !== "cluster") outcomes.push(printReports([await swapEmbedded([previous, CURRENT])]));
  return outcomes.every(Boolean);
}

async function rollOut(previous: Release): Promise<boolean> {
  const upstream = await startWordUpstream();
  const size = { planes: numberOf("PLANES", 2), edges: numberOf("EDGES", 2), mongoNodes: numberOf("MONGO_NODES", 3) };
  const env = { LOG_LEVEL: "warn", DRAIN_DELAY_MS: "1000" };
  const cluster = await startCluster({ ...size, env, config: wordModel(upstream.url), root: previous.root });
  try {
    const { load, shown } = await underLoad(cluster, { lanes: numberOf("LANES", 6), struck: "replaced" });
    let holds = true;
    for (const release of [CURRENT, previous]) {
      for (const role of ["control plane", "edge"] as const) {
        holds = (await restartAll(cluster, { roles: [role], load, shown, code: release })) && holds;
      }
    }
    await load.end();
    return holds;
  } finally {
    await cluster.stop();
    await upstream.stop();
  }
}
