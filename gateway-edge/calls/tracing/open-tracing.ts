import type { Registry } from "prom-client";
import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Random } from "../../../common/random.ts";
import { addSpanFigures, openExporter } from "../../../common/tracing/open-exporter.ts";
import type { TraceConfig } from "../../../common/tracing/trace-settings.ts";
import type { Tracing } from "./tracing.ts";

interface TracingDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

const STOP_MS = 3000;

/** Traces of an edge and what ends them, if OTEL_EXPORTER_OTLP_ENDPOINT is set; without it nothing of it is loaded. */
export async function openTracing(
  config: TraceConfig,
  { clock, random, logger, registry }: TracingDeps,
): Promise<{ tracing: Tracing; stop(): Promise<void> } | undefined> {
  const exporter = await openExporter(config, { clock, logger, role: "edge" });
  if (!exporter) return undefined;
  addSpanFigures(registry, exporter);
  const [{ Tracing: Traces }, { createSampler }] = await Promise.all([
    import("./tracing.ts"),
    import("../../../common/tracing/sampler.ts"),
  ]);
  const sampler = createSampler(config.otelTracesSampler, config.otelTracesSamplerArg);
  return { tracing: new Traces({ sink: exporter, clock, random, sampler }), stop: () => exporter.stop(STOP_MS) };
}
