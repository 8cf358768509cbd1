/**
 * `make ledger-verify` and `make ledger-replay`: verifies or replays the ledger of a running system and prints a report.
 *
 *   node scripts/admin-ledger.ts verify
 *   node scripts/admin-ledger.ts replay [--as-of 2026-11-15T00:00:00Z] [--with-prices 2026-11-01T00:00:00Z]
 *
 * URL is its address (http://127.0.0.1:4000). ADMIN_TOKEN, an administrator's token, or MASTER_KEY authenticates.
 */
import { parseArgs } from "node:util";
import { fromJson } from "../common/json.ts";
import { type ReplayPage, replayReport, type Verified, verifyReport } from "./admin-ledger/report.ts";

const PAGE_SIZE = 100;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { "as-of": { type: "string" }, "with-prices": { type: "string" } },
});
const url = process.env["URL"] || "http://127.0.0.1:4000";
const secret = process.env["ADMIN_TOKEN"] || process.env["MASTER_KEY"];
if (!secret) stop("set ADMIN_TOKEN (an administrator's token) or MASTER_KEY");

const [command] = positionals;
if (command === "verify") {
  print(verifyReport((await ask("/api/admin/ledger/verify")) as Verified));
} else if (command === "replay") {
  print(replayReport(await replayPages()));
} else {
  stop("usage: node scripts/admin-ledger.ts verify | replay [--as-of TIME] [--with-prices TIME]");
}

function print({ ok, lines }: { ok: boolean; lines: readonly string[] }): void {
  for (const line of lines) console.log(line);
  process.exitCode = ok ? 0 : 1;
}

async function replayPages(): Promise<ReplayPage[]> {
  const pages: ReplayPage[] = [];
  // All pages have the same point in time: the given one, or that of the first page.
  let asOf = values["as-of"];
  for (let page = 1; ; page++) {
    const query = new URLSearchParams({ page: String(page), pageSize: String(PAGE_SIZE) });
    if (asOf) query.set("asOf", asOf);
    if (values["with-prices"]) query.set("withPrices", values["with-prices"]);
    const answer = (await ask(`/api/admin/ledger/replay?${query}`)) as ReplayPage;
    pages.push(answer);
    asOf = answer.asOf;
    if (BigInt(page) >= answer.meta.totalPages) return pages;
  }
}

async function ask(path: string): Promise<unknown> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${secret}` } }).catch((error: Error) =>
    stop(`${url} cannot be reached: ${error.message}`),
  );
  const text = await response.text();
  return response.ok ? fromJson(text) : stop(`${url}${path} responded with ${response.status}: ${text}`);
}

function stop(message: string): never {
  console.error(message);
  process.exit(1);
}
