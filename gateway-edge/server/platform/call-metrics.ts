import type { Registry } from "prom-client";
import type { Buckets } from "../../../common/metrics/buckets.ts";
import { addCounter, addHistogram, type Sample } from "../../../common/metrics/read-metrics.ts";
import { type CallSlot, UPSTREAM_STATUSES } from "../../calls/call-counts.ts";

const NANO = 1e9;

/** Adds what calls did, by model group and provider. */
export function addCallMetrics(registry: Registry, read: () => readonly CallSlot[]): void {
  const counter = (name: string, help: string, label: string | undefined, values: (slot: CallSlot) => Readonly<Record<string, number>>) =>
    addCounter(registry, {
      name,
      help,
      labelNames: ["model", "provider", ...(label === undefined ? [] : [label])],
      read: () => read().flatMap((slot) => samples(slot, label, values(slot))),
    });
  const histogram = (name: string, help: string, buckets: (slot: CallSlot) => Buckets) =>
    addHistogram(registry, { name, help, read: () => read().map((slot) => ({ labels: labelsOf(slot), buckets: buckets(slot) })) });
  counter("tributary_calls_total", "Calls that ended, by how they ended.", "status", ({ calls }) => calls);
  counter("tributary_call_tokens_total", "Tokens of calls: input without cached, cached input, output.", "type", ({ tokens }) => tokens);
  counter("tributary_call_cost_usd_total", "What calls cost their callers.", undefined, ({ costNano }) => ({ all: costNano / NANO }));
  counter("tributary_upstream_errors_total", "Failed attempts by the status of the provider; none: it did not answer.", "status", errorsOf);
  histogram(
    "tributary_call_first_token_seconds",
    "Time from the request to the first token of a stream that succeeded.",
    ({ firstToken }) => firstToken,
  );
  histogram("tributary_call_duration_seconds", "Time from the request to the end of a call that succeeded.", ({ latency }) => latency);
}

const labelsOf = ({ model, provider }: CallSlot) => ({ model, provider });

function samples(slot: CallSlot, label: string | undefined, values: Readonly<Record<string, number>>): Sample[] {
  const labels = labelsOf(slot);
  return Object.entries(values).map(([name, value]) => ({ labels: label === undefined ? labels : { ...labels, [label]: name }, value }));
}

/** Only statuses that occurred, because they are many. */
function errorsOf({ upstreamErrors }: CallSlot): Record<string, number> {
  const errors: Record<string, number> = {};
  for (const [place, status] of UPSTREAM_STATUSES.entries()) {
    const count = upstreamErrors[place] ?? 0;
    if (count > 0) errors[status] = count;
  }
  return errors;
}
