import { call } from "../../test/helpers/api.ts";
import { benchConfig } from "./config-text.ts";
import type { Extent, Stage } from "./contender.ts";
import { fillKeys, fillRows } from "./fill-store.ts";
import { median } from "./median.ts";
import { startTributary, type Tributary, type TributaryOptions } from "./tributary.ts";
import { type GoalRow, goalTable, ratioByRound } from "./verdict.ts";
import { type Cell, middle, rssOf, usedBy, window } from "./windows.ts";

const KEYS = 200_000;
const ROWS = 1_000_000;
const DEPLOYMENTS = 2000;
const CALLS = 5000;
const CONNECTIONS = 64;
/** Keys that are called for the first time while CPU is counted. */
const FIRST_CALLS = 2000;
/** As many times that many are called before: V8 compiles what only first calls run after some thousand of them. */
const FIRST_CALLS_WARM = 3;
const LEDGER_READS = 20;
const GROWTH_MOST = 1.1;
const LEDGER_MS_MOST = 50;
const FIRST_CALL_MS_MOST = 0.2;

/** Tables of what a call costs on platforms that grew, beside a plain one, and of what grows with the records alone. */
export async function growthSections(stage: Stage, { rounds, scale, warm }: Extent): Promise<string[]> {
  const [keys, rows, deployments] = [KEYS, ROWS, DEPLOYMENTS].map((count) => Math.ceil(count * scale)) as [number, number, number];
  const calls = Math.ceil(CALLS * scale);
  let secrets: string[] = [];
  const variants: TributaryOptions[] = [
    { name: "plain" },
    {
      name: `${shown(keys)} keys stored`,
      fill: async (store, { customer, folder }) => {
        secrets = await fillKeys(store, {
          count: keys,
          secrets: Math.ceil(FIRST_CALLS * scale) * (1 + FIRST_CALLS_WARM),
          owner: customer,
          dataDir: folder,
        });
      },
    },
    { name: `${shown(rows)} rows stored`, fill: (store, { customer }) => fillRows(store, { count: rows, owner: customer }) },
    { name: `a group of ${shown(deployments)} deployments`, config: benchConfig(stage.upstreamUrl, deployments) },
  ];
  const platforms: Tributary[] = [];
  try {
    for (const variant of variants) platforms.push(await startTributary(stage, variant));
    for (const platform of platforms) await window(platform, { stream: false, connections: 32, calls: warm });
    const cells = new Map<Tributary, Cell[]>(platforms.map((platform) => [platform, []]));
    for (let round = 0; round < rounds; round++) {
      for (const [platform, own] of cells) own.push(await window(platform, { stream: false, connections: CONNECTIONS, calls }));
    }
    const [, withKeys, withRows] = platforms as [Tributary, Tributary, Tributary, Tributary];
    const single = [await firstCalls(withKeys, secrets), await ledgerReads(withRows, rows)];
    return [
      [
        "## Growth",
        "",
        "Whole calls, 64 connections; each round measures all of them. Goal: at most 1.1 of the plain cost.",
        "",
        growthTable(cells),
      ],
      ["## Records", "", goalTable(single)],
    ].map((lines) => lines.join("\n"));
  } finally {
    await Promise.all(platforms.map((platform) => platform.stop()));
  }
}

function growthTable(cells: ReadonlyMap<Tributary, readonly Cell[]>): string {
  const costs = (own: readonly Cell[]) => own.map(({ cpuPer1000 }) => cpuPer1000);
  const [plain = []] = cells.values();
  const lines = [...cells].map(([platform, own]) => {
    const { cpuPer1000, p50, p99, failed } = middle(own);
    if (failed !== undefined) return `| ${platform.name} | ${failed} | | | | | **no** |`;
    const ratio = ratioByRound(costs(plain), costs(own));
    const figures = [cpuPer1000.toFixed(3), ratio.toFixed(2), p50.toFixed(2), p99.toFixed(2), rssOf(platform).toFixed(0)];
    return `| ${platform.name} | ${figures.join(" | ")} | ${ratio <= GROWTH_MOST ? "yes" : "**no**"} |`;
  });
  return ["| | CPU-seconds per 1,000 | × plain | p50 ms | p99 ms | RSS MB | met |", "|---|---|---|---|---|---|---|", ...lines].join("\n");
}

/** CPU of edge and control plane for a call whose key the edge has not seen before. */
async function firstCalls(platform: Tributary, secrets: readonly string[]): Promise<GoalRow> {
  const keys = secrets.slice(0, secrets.length / (1 + FIRST_CALLS_WARM));
  const callEach = async (unseen: readonly string[]) => {
    const { failed } = await window(platform, { stream: false, connections: CONNECTIONS, calls: unseen.length, keys: unseen });
    if (failed !== undefined) throw new Error(failed);
  };
  await callEach(secrets.slice(keys.length));
  const before = usedBy(platform);
  await callEach(keys);
  const value = ((usedBy(platform) - before) / keys.length) * 1000;
  return { what: `first call of a key, of ${shown(keys.length)} keys in turn`, value, unit: "ms of CPU", most: FIRST_CALL_MS_MOST };
}

async function ledgerReads({ system, customer }: Tributary, entries: number): Promise<GoalRow> {
  const times: number[] = [];
  for (let read = 0; read < LEDGER_READS; read++) {
    const beganMs = performance.now();
    const { status, body, text } = await call(system.url, "GET", "/api/credits/ledger", { token: customer.token });
    times.push(performance.now() - beganMs);
    if (status !== 200 || body.meta.total < entries) throw new Error(`the ledger answered ${status}: ${text.slice(0, 300)}`);
  }
  return { what: `\`GET /api/credits/ledger\` with ${shown(entries)} entries`, value: median(times), unit: "ms", most: LEDGER_MS_MOST };
}

function shown(count: number): string {
  return count.toLocaleString("en-US");
}
