import type { Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { addCounter, addGauge, byLabel, type Role } from "../metrics/read-metrics.ts";
import { VERSION } from "../version.ts";
import type { SpanExporter } from "./span-exporter.ts";
import type { TraceConfig } from "./trace-settings.ts";

interface ExporterDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly role: Role;
}

/** The exporter of a process's spans if OTEL_EXPORTER_OTLP_ENDPOINT is set. Without it nothing of it is loaded. */
export async function openExporter(config: TraceConfig, { clock, logger, role }: ExporterDeps): Promise<SpanExporter | undefined> {
  const endpoint = config.otelExporterOtlpEndpoint;
  if (endpoint === undefined) return undefined;
  const [{ SpanExporter: Exporter }, { createSendSpans }] = await Promise.all([import("./span-exporter.ts"), import("./send-spans.ts")]);
  const resource = {
    "service.name": config.otelServiceName ?? `tributary-${role}`,
    "service.version": VERSION,
    "service.namespace": "tributary",
    "tributary.role": role,
    "process.pid": process.pid,
  };
  const send = createSendSpans({ endpoint, headers: config.otelExporterOtlpHeaders ?? {}, resource, version: VERSION });
  return new Exporter({ send, clock, logger });
}

/** Metrics of an exporter: what became of the spans, and how many wait. */
export function addSpanFigures(registry: Registry, exporter: Pick<SpanExporter, "figures">): void {
  addCounter(registry, {
    name: "tributary_trace_spans_total",
    help: "Spans of traces: exported, dropped (the queue was full) or failed (the receiver refused them or could not be reached).",
    labelNames: ["outcome"],
    read: () => {
      const { exported, dropped, failed } = exporter.figures;
      return byLabel("outcome", { exported, dropped, failed });
    },
  });
  addGauge(registry, {
    name: "tributary_trace_queue_spans",
    help: "Spans that wait for their export.",
    read: () => exporter.figures.queued,
  });
}
