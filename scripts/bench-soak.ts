/**
 * `make bench-soak MINUTES=20`: an edge at its full rate for as long. Each minute prints the calls, the heaps after a garbage collection, the unsettled calls
 * and the resident memory; at the end the customer's balance is compared with the answered calls. Fails if heaps or unsettled calls grow, or if the
 * balance is not exact. CALLERS (64) is the number of connections; SECONDS (60) makes the minutes shorter.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, newTenant } from "../test/helpers/api.ts";
import { freePort, startProcess } from "../test/helpers/processes.ts";
import { startSystem } from "../test/helpers/system.ts";
import { CallerProcess } from "./bench/caller.ts";
import { benchConfig } from "./bench/config-text.ts";
import { rssMb } from "./bench/cpu.ts";
import { watchEdge } from "./bench/edge-samples.ts";
import { Inspector } from "./bench/heap.ts";
import { median } from "./bench/median.ts";
import { type SoakMinute, soakFailures } from "./bench/soak-verdict.ts";

const MINUTES = Number(process.env["MINUTES"] ?? 20);
const SECONDS = Number(process.env["SECONDS"] ?? 60);
const CALLERS = Number(process.env["CALLERS"] ?? 64);
const BODY = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "a question of some length, ".repeat(8) }] });
/** Of the upstream's 20 and 50 tokens at the prices of the configuration. */
const COST_OF_CALL = 20n * 100n + 50n * 200n;
const CREDIT = 1_000_000_000_000;

const folder = mkdtempSync(join(tmpdir(), "tributary-soak-"));
const upstream = startProcess({ entry: "scripts/bench/upstream.ts", env: {}, name: "upstream" });
const config = join(folder, "config.yaml");
writeFileSync(config, benchConfig(`http://127.0.0.1:${(await upstream.ready).port}`));
const [metricsPort, edgePort, controlPort] = [await freePort(), await freePort(), await freePort()];
const system = await startSystem({
  env: { CONFIG: config, LOG_LEVEL: "warn" },
  edgeEnv: { METRICS_PORT: String(metricsPort), NODE_OPTIONS: `--inspect=127.0.0.1:${edgePort}` },
  controlPlaneFlags: [`--inspect=127.0.0.1:${controlPort}`],
});
const caller = await CallerProcess.start();
const inspectors = [await Inspector.open(edgePort), await Inspector.open(controlPort)] as const;
try {
  process.exitCode = (await soak()) ? 0 : 1;
} finally {
  for (const inspector of inspectors) inspector.close();
  caller.stop();
  await system.stop();
  await upstream.stop("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}

async function soak(): Promise<boolean> {
  const customer = await newTenant(system, { creditNano: CREDIT });
  const before = await balance(customer.token);
  const edge = watchEdge({ metricsPort, pid: system.edges[0]?.pid ?? -1 });
  const minutes: SoakMinute[] = [];
  const sums = { answered: 0, refused: 0, broken: 0 };
  console.log(
    "minute     calls  refused  broken  heap MB after GC: edge, control plane  unsettled: median, most  RSS MB: edge, control plane",
  );
  for (let minute = 1; minute <= MINUTES; minute++) {
    const samples = edge.begin();
    const headers = { authorization: `Bearer ${customer.key}` };
    const report = await caller.run({ url: system.url, headers, body: BODY, callers: CALLERS, seconds: SECONDS });
    const unsettled = (await samples.end()).map((sample) => sample.unsettled);
    const [edgeHeapMb, controlHeapMb] = [await inspectors[0].heapMbAfterGc(), await inspectors[1].heapMbAfterGc()];
    for (const name of ["answered", "refused", "broken"] as const) sums[name] += report[name];
    minutes.push({ answered: report.answered, edgeHeapMb, controlHeapMb, unsettled: median(unsettled) });
    const cells = [
      ...[
        String(minute).padStart(6),
        String(report.answered).padStart(9),
        String(report.refused).padStart(8),
        String(report.broken).padStart(7),
      ],
      `${edgeHeapMb.toFixed(1)}, ${controlHeapMb.toFixed(1)}`.padStart(38),
      `${median(unsettled)}, ${Math.max(...unsettled)}`.padStart(24),
      `${rssMb(system.edges[0]?.pid ?? -1).toFixed(0)}, ${rssMb(system.controlPlane.pid).toFixed(0)}`.padStart(27),
    ];
    console.log(cells.join(" "));
  }
  await edge.settled();
  const money = { before, after: await balance(customer.token), costOfCall: COST_OF_CALL, ...sums };
  const failures = soakFailures(minutes, money);
  console.log(`balance: fell by ${money.before - money.after} nano-USD for ${sums.answered} answered calls of ${COST_OF_CALL}`);
  for (const failure of failures) console.log(`FAILED: ${failure}`);
  if (failures.length === 0) console.log("ok: heaps and unsettled calls did not grow, and the balance is exact");
  return failures.length === 0;
}

async function balance(token: string): Promise<bigint> {
  const { status, body, text } = await call(system.url, "GET", "/api/balance", { token });
  if (status !== 200) throw new Error(`the balance answered ${status}: ${text}`);
  return BigInt(body.balance);
}
