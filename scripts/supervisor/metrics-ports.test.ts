import { metricsPorts } from "./metrics-ports.ts";

test("every process of make run has a port of its own for metrics, and none without METRICS_PORT", () => {
  const { controlPlane, coordinator, trainer, edge } = metricsPorts(9464);
  expect([controlPlane, coordinator, trainer, edge(0), edge(1)]).toEqual(
    [9464, 9465, 9466, 9467, 9468].map((port) => ({ METRICS_PORT: String(port) })),
  );
  expect(metricsPorts(0).edge(5)).toEqual({ METRICS_PORT: "0" });
  expect(metricsPorts(undefined).edge(0)).toEqual({});
});
