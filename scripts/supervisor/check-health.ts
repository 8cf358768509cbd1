import type { Environment } from "../../common/config.ts";

export interface Health {
  readonly ready: boolean;
  readonly text: string;
}

const TIMEOUT_MS = 3000;
const DEFAULT_PORT = "4000";

/** Asks the process of this machine whether it is ready: at METRICS_PORT, which every process has, else an edge at PORT. */
export async function checkHealth(environment: Environment): Promise<Health> {
  const { METRICS_PORT: metricsPort, METRICS_HOST: metricsHost, PORT: port, HOST: host } = environment;
  const url = metricsPort
    ? `http://${reachable(metricsHost)}:${metricsPort}/ready`
    : `http://${reachable(host)}:${port || DEFAULT_PORT}/health/readiness`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { ready: response.ok, text: `${url}: ${response.status} ${(await response.text()).trim()}` };
  } catch (cause) {
    return { ready: false, text: `${url}: ${String((cause as Error).cause ?? cause)}` };
  }
}

/** A listener on all addresses is also on loopback. */
function reachable(host: string | undefined): string {
  if (!host || host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
