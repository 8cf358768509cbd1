import { setTimeout as sleep } from "node:timers/promises";
import { adminToken, call, newTenant, type Tenant } from "../../test/helpers/api.ts";
import type { Cluster } from "../../test/helpers/cluster.ts";
import type { BlowReport } from "./blows.ts";
import type { LimitReport } from "./limits.ts";
import { Load } from "./load.ts";

const VERIFY_AGAIN = 5;

/** A cluster with calls, and the table of what happens to it. */
export interface UnderLoad {
  readonly load: Load;
  readonly tenant: Tenant;
  /** Adds a report to the table as soon as it is there, with the verdict on the ledger, and says whether all of it is good. */
  shown(report: BlowReport): Promise<boolean>;
}

/** Begins to call a cluster in several lanes, and prints the head of the table. */
export async function underLoad(running: Cluster, { lanes, struck }: { lanes: number; struck: string }): Promise<UnderLoad> {
  const [url = ""] = running.urls;
  const tenant = await newTenant({ url }, { creditNano: 1_000_000_000_000 });
  const token = await adminToken({ url });
  const load = new Load({ urls: running.urls, key: tenant.key, lanes });
  console.log(`${sizeOf(running)}, ${running.store.uri.split(",").length} MongoDB nodes, mutual TLS, ${lanes} streams at a time`);
  console.log(line([struck, "how", "calls", "failed", "lost with it", "recovered", "verify"]));
  const shown = async (report: BlowReport) => {
    const verdict = await verify(load.balancer.urlOf(load.balancer.pick()), token);
    console.log(row(report, verdict));
    for (const [reason, count] of Object.entries(report.reasons)) console.log(`  ${count} × ${reason}`);
    return report.failed === 0 && report.recoveredMs !== undefined && verdict === "ok";
  };
  return { load, tenant, shown };
}

/** Prints promises, and says whether all hold. */
export function printReports(reports: readonly LimitReport[]): boolean {
  for (const { what, figure, holds } of reports) console.log(`${what.padEnd(56)} ${figure.padEnd(40)} ${holds ? "holds" : "FAILS"}`);
  return reports.every(({ holds }) => holds);
}

function sizeOf(running: Cluster): string {
  const counts = (["control plane", "edge", "trainer", "coordinator"] as const).map(
    (role) => [role, running.membersOf(role).length] as const,
  );
  return counts.flatMap(([role, count]) => (count === 0 ? [] : [`${count} ${role}${count === 1 ? "" : "s"}`])).join(", ");
}

/** The control plane that is asked may still find out that its connections are dead: then it is asked again. */
async function verify(url: string, token: string): Promise<string> {
  let answer = await call(url, "GET", "/api/admin/ledger/verify", { token });
  for (let again = 0; again < VERIFY_AGAIN && answer.status >= 503; again++) {
    await sleep(2000);
    answer = await call(url, "GET", "/api/admin/ledger/verify", { token });
  }
  const { status, body, text } = answer;
  return status === 200 && body.ok === true && body.sum === 0 ? "ok" : `${status} ${text.slice(0, 200)}`;
}

function row(report: BlowReport, verdict: string): string {
  const seconds = report.recoveredMs === undefined ? "never" : `${(report.recoveredMs / 1000).toFixed(1)} s`;
  return line([report.target, report.what, report.calls, report.failed, report.lost, seconds, verdict]);
}

function line(cells: readonly (string | number)[]): string {
  const widths = [18, 18, 7, 8, 14, 11, 8];
  return cells
    .map((cell, index) => (index < 2 ? String(cell).padEnd(widths[index] ?? 0) : String(cell).padStart(widths[index] ?? 0)))
    .join(" ");
}
