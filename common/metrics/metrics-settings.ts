import { z } from "zod";

/** Where a process serves its metrics. Edges that share a port answer there at random, so each process has an address of its own. */
export const metricsSettings = {
  METRICS_PORT: z.coerce
    .number("must be a port number")
    .int()
    .min(0)
    .max(65_535, "must be at most 65535")
    .optional()
    .describe(
      "Port at which this process serves metrics for Prometheus (`/metrics`) and probes (`/healthz`, `/ready`); unset, it serves none there. Each process needs its own: `make run` gives the control plane this port, the coordinator the next, the trainer node the one after it, and edges those that follow.",
    ),
  METRICS_HOST: z
    .string()
    .default("127.0.0.1")
    .describe("Address of `METRICS_PORT`. Each client that reaches it can read the metrics, without TLS: keep it in a private network."),
};
