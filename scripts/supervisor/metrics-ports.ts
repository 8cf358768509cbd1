interface MetricsPort {
  readonly METRICS_PORT?: string;
}

/** METRICS_PORT of each process of `make run`: one port is not enough for all. Edges are last, because there may be many of them. */
export function metricsPorts(first: number | undefined): {
  readonly controlPlane: MetricsPort;
  readonly coordinator: MetricsPort;
  readonly trainer: MetricsPort;
  edge(index: number): MetricsPort;
} {
  // With 0 the system chooses a port for each.
  const at = (offset: number): MetricsPort => (first === undefined ? {} : { METRICS_PORT: String(first === 0 ? 0 : first + offset) });
  return { controlPlane: at(0), coordinator: at(1), trainer: at(2), edge: (index) => at(3 + index) };
}
