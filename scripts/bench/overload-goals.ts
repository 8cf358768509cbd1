import type { CallerReport } from "./caller.ts";
import type { EdgeSample } from "./edge-samples.ts";
import type { GoalRow } from "./verdict.ts";

/** One row of callers; the first is the peak. */
export interface OverloadRow {
  readonly name: string;
  /** Whether its callers call again at once after a refusal. */
  readonly isHasty: boolean;
  readonly report: Pick<CallerReport, "answered" | "refused" | "broken" | "refusedMs" | "connectingMs">;
  readonly samples: readonly EdgeSample[];
}

const GOODPUT_LOST_MOST = 10;
const REFUSAL_MS_MOST = 20;
const CONNECTING_MS_MOST = 2000;
const UNSETTLED_MOST = 20_000;
const RSS_GROWTH_MOST = 1.15;
const FIRST_TOKEN_MS_MOST = 20;
const STREAMS_RSS_MB_MOST = 450;

/** What each row lost of the peak, how late its refusals were, and what grew. Of callers that do not wait, refusals are late on purpose. */
export function overloadGoals([peak, ...rows]: readonly OverloadRow[], seconds: number): GoalRow[] {
  if (!peak) return [];
  const rate = ({ report }: OverloadRow) => report.answered / seconds;
  return rows.flatMap((row) => {
    const lost = Math.max(0, (1 - rate(row) / rate(peak)) * 100);
    const goals: GoalRow[] = [{ what: `${row.name}: goodput below the peak`, value: lost, unit: "%", most: GOODPUT_LOST_MOST }];
    if (!row.isHasty && row.report.refused > 0) {
      goals.push({ what: `${row.name}: refusals, p99`, value: row.report.refusedMs.p99, unit: "ms", most: REFUSAL_MS_MOST });
    }
    return [
      ...goals,
      { what: `${row.name}: first call of a connection, p99`, value: row.report.connectingMs.p99, unit: "ms", most: CONNECTING_MS_MOST },
      { what: `${row.name}: calls without an answer`, value: row.report.broken, unit: "", most: 0 },
      {
        what: `${row.name}: unsettled calls, most`,
        value: Math.max(...row.samples.map(({ unsettled }) => unsettled)),
        unit: "",
        most: UNSETTLED_MOST,
      },
      { what: `${row.name}: memory, last over half-time`, value: growthOf(row.samples), unit: "×", most: RSS_GROWTH_MOST },
    ];
  });
}

/** Memory at the end over that in the middle: at its beginning a row opens its connections. */
function growthOf(samples: readonly EdgeSample[]): number {
  const [middle, last] = [samples[samples.length >> 1], samples.at(-1)];
  return (last?.rssMb ?? Number.NaN) / (middle?.rssMb ?? Number.NaN);
}

/** What streams through the edge have more than those that ask the upstream itself. */
export function streamGoals(runs: { direct: CallerReport; report: CallerReport; samples: readonly EdgeSample[] }): GoalRow[] {
  const { report, samples } = runs;
  const { firstTextMs, firstEventMs } = addedBy(runs);
  return [
    { what: "streams refused or without an answer, idle connections closed", value: report.refused + report.broken, unit: "", most: 0 },
    { what: "added time to the first token, p99", value: firstTextMs, unit: "ms", most: FIRST_TOKEN_MS_MOST },
    { what: "added time to the first event, p50", value: firstEventMs, unit: "ms", most: FIRST_TOKEN_MS_MOST },
    { what: "memory of the edge, most", value: Math.max(...samples.map(({ rssMb }) => rssMb)), unit: "MB", most: STREAMS_RSS_MB_MOST },
  ];
}

/** The same figures of a pass-through without duties, as one line: a goal below them is one that no gateway on Node reaches on this machine. */
export function bareLine({ rssMb, ...runs }: { direct: CallerReport; report: CallerReport; rssMb: number }): string {
  const { firstTextMs, firstEventMs } = addedBy(runs);
  const { refused, broken } = runs.report;
  const times = `first token +${firstTextMs.toFixed(0)} ms (p99), first event +${firstEventMs.toFixed(1)} ms (p50)`;
  return `${times}, ${rssMb.toFixed(0)} MB at the end, ${refused + broken} refused, without an answer or closed`;
}

function addedBy({ direct, report }: { direct: CallerReport; report: CallerReport }): { firstTextMs: number; firstEventMs: number } {
  return {
    firstTextMs: report.firstTextMs.p99 - direct.firstTextMs.p99,
    firstEventMs: report.firstEventMs.p50 - direct.firstEventMs.p50,
  };
}
