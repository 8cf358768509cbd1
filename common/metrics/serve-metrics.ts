import type { RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { createServer } from "../node-http.ts";
import { addMachineMetrics, type MachineConfig } from "./machine-metrics.ts";
import { addGauge, addProcessMetrics, type Role } from "./read-metrics.ts";

/** What a process says about itself: only a ready one is to get calls. One that is unavailable lacks another process. */
export type ProcessState = "starting" | "ready" | "unavailable" | "stopping";

/** A server of metrics. */
export interface MetricsServer {
  readonly port: number;
  stop(): Promise<void>;
}

interface MetricsPlace {
  readonly metricsPort?: number | undefined;
  readonly metricsHost: string;
}

type Metrics = Pick<Registry, "metrics" | "contentType">;
type State = () => ProcessState;

/** A scrape is one small request; a scraper that is slower than this is not one. */
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 64;

/** Adds whether a process is to get calls: 0 while it starts, stops, or lacks another process. */
export function addReadyMetric(registry: Registry, state: State): void {
  addGauge(registry, {
    name: "tributary_ready",
    help: "1 if this process accepts calls, 0 if it starts, stops, or lacks another process.",
    read: () => Number(state() === "ready"),
  });
}

/** Serves a registry, with what every process has, if a port is set; without one nothing is added. */
export async function serveProcessMetrics(
  config: MetricsPlace & MachineConfig,
  registry: Registry,
  { role, state }: { role: Role; state: State },
): Promise<MetricsServer | undefined> {
  if (config.metricsPort === undefined) return undefined;
  addProcessMetrics(registry, role);
  addMachineMetrics(registry, config);
  addReadyMetric(registry, state);
  return serveMetrics(config, registry, state);
}

/**
 * Serves `GET /metrics`, `/healthz` and `/ready` if a port is set. It answers until it is stopped, which a process does last: a drain is worth
 * watching.
 */
export async function serveMetrics(
  { metricsPort, metricsHost }: MetricsPlace,
  metrics: Metrics,
  state: State,
): Promise<MetricsServer | undefined> {
  if (metricsPort === undefined) return undefined;
  const limits = { headersTimeout: REQUEST_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(limits, answerWith(metrics, state));
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error) => reject(new Error(notListening(`${metricsHost}:${metricsPort}`, cause), { cause }));
    server.once("error", fail);
    server.listen(metricsPort, metricsHost, () => {
      server.off("error", fail);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

const notListening = (place: string, { message }: Error): string =>
  `METRICS_PORT: metrics cannot be served at ${place} (${message}); give each process a free port of its own`;

type Answer = (response: ServerResponse) => void;

function answerWith(metrics: Metrics, state: State): RequestListener {
  const answers: Readonly<Record<string, Answer>> = {
    "/metrics": (response) => scrape(metrics, response),
    // The process answers, so it lives: also while it starts or stops, when a restart would only lose calls.
    "/healthz": (response) => sendText(response, 200, "ok\n"),
    "/ready": (response) => sendText(response, state() === "ready" ? 200 : 503, `${state()}\n`),
  };
  const paths = Object.keys(answers).join(", ");
  return (request, response) => {
    // A body is not read, so the connection cannot be used again.
    response.setHeader("connection", "close");
    response.setHeader("x-content-type-options", "nosniff");
    const path = request.url?.split("?", 1)[0] ?? "";
    const answer = request.method === "GET" && Object.hasOwn(answers, path) ? answers[path] : undefined;
    if (answer) answer(response);
    else sendText(response, 404, `Only GET of ${paths} is served here.\n`);
  };
}

function scrape(metrics: Metrics, response: ServerResponse): void {
  metrics.metrics().then(
    (text) => void response.writeHead(200, { "content-type": metrics.contentType }).end(text),
    // A figure that cannot be read fails the scrape, not the process.
    (error: unknown) => sendText(response, 500, `${String(error)}\n`),
  );
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
}
