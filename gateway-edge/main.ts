import { systemClock } from "../common/clock.ts";
import { isLoopbackHost } from "../common/exposed.ts";
import { createLogger } from "../common/logger.ts";
import { addMachineMetrics } from "../common/metrics/machine-metrics.ts";
import { addReadyMetric, type ProcessState, serveMetrics } from "../common/metrics/serve-metrics.ts";
import { presentedToken } from "../common/peers/control-token.ts";
import { trustOperator } from "../common/peers/tls.ts";
import { drainTimes, onShutdown, report, runMain } from "../common/process.ts";
import { systemRandom } from "../common/random.ts";
import { VERSION } from "../common/version.ts";
import { connectControlPlane } from "./access/clients/control-plane.ts";
import { startReports } from "./access/report-edge.ts";
import { createApp } from "./app.ts";
import { createInference, type Inference } from "./calls/create.ts";
import { OpenCalls } from "./calls/open-calls.ts";
import { vocabularyOf } from "./calls/tokens/token-counter.ts";
import { openTracing } from "./calls/tracing/open-tracing.ts";
import { type EdgeConfig, readEdgeConfig } from "./config.ts";
import type { EdgeDeps } from "./deps.ts";
import { queuedBytes } from "./server/http/calls/sse-writer.ts";
import { realtimeUpgrades } from "./server/http/realtime/realtime-upgrade.ts";
import { exactInferenceRoutes, inferenceOperations, inferenceRouter, platformMessagesHandler } from "./server/http/routes.ts";
import { listen } from "./server/listen.ts";
import { createAccessLog } from "./server/middleware/access-log.ts";
import { createOverloadGate } from "./server/overload/overload-gate.ts";
import { addCallFigures, createMetrics } from "./server/platform/metrics.ts";
import { createEdgeRuns } from "./stored/assistants/edge-runs.ts";
import { createRpcRecords } from "./stored/records/rpc-records.ts";
import { ResponseFeed } from "./stored/responses/response-feed.ts";
import { startWork } from "./stored/start-work.ts";

await runMain("tributary edge", async () => {
  const config = readEdgeConfig(process.env);
  const logger = createLogger("edge", config.logLevel);
  if (config.tls) trustOperator(config.tls);
  const proof = config.tls ? { tls: config.tls } : { token: presentedToken(config, systemRandom) };
  const control = connectControlPlane(config.controlAddress, proof);
  // An address that a control plane names gets the token only on this machine.
  const connectPlane = (address: string) =>
    config.tls || isLoopbackHost(address.replace(/:\d+$/, "")) ? connectControlPlane(address, proof) : undefined;
  const records = createRpcRecords(control.records);
  const openCalls = new OpenCalls();
  const sources = { clock: systemClock, random: systemRandom, logger };
  const accessLog = createAccessLog(config.accessLog, sources);
  const metrics = createMetrics({ clock: systemClock, edgeIndex: config.edgeIndex, accessLog });
  const traces = await openTracing(config, { ...sources, registry: metrics.registry });
  const deps: EdgeDeps = { config, control, connectPlane, records, ...sources, openCalls, tracing: traces?.tracing };
  // Waits until the catalog is loaded from the control plane.
  const inference = await createInference(deps);
  const work = { runs: createEdgeRuns(deps, inference), feed: new ResponseFeed() };
  const overload = createOverloadGate(deps, inference);
  const worker = startWork(deps, inference, { ...work, overload });
  const read = () => ({ ...inference.figures(), clientBytesQueued: queuedBytes(), overload: overload.figures() });
  addCallFigures(metrics, read, systemClock);
  addMachineMetrics(metrics.registry, config);
  let stopping = false;
  const state = (): ProcessState => (stopping ? "stopping" : inference.ready() ? "ready" : "unavailable");
  addReadyMetric(metrics.registry, state);
  if (config.metricsPort !== undefined) metrics.addProcess();
  const metricsServer = await serveMetrics(config, metrics.registry, state);
  const reports = reportToAll(deps, inference);

  const open = (authProfile: EdgeConfig["authProfile"], port: number) => {
    const parts = { inference, worker, ...work, authProfile, overload };
    const app = createApp(deps, {
      inferenceRoutes: inferenceRouter(deps, parts),
      inferenceOperations,
      gateway: inference,
      messagesHandler: platformMessagesHandler(deps, { inference }),
      isMasterKey: (sha256) => inference.isMasterKey(sha256),
      ready: () => state() === "ready",
      metrics,
    });
    const exact = exactInferenceRoutes(deps, parts);
    const upgrades = realtimeUpgrades(deps, parts);
    return listen(app, { host: config.host, port, reusePort: config.reusePort, observe: metrics.observe, exact, upgrades });
  };
  const listeners = [await open(config.authProfile, config.port)];
  if (config.hostedPort !== undefined) listeners.push(await open("hosted", config.hostedPort));

  const stop = async ({ isOrphan }: { isOrphan: boolean }) => {
    const { drainDelayMs, drainMs } = drainTimes(config, { isOrphan });
    stopping = true;
    for (const listener of listeners) listener.announceStop();
    await systemClock.sleep(drainDelayMs);
    reports.stop();
    openCalls.stop();
    const until = systemClock.monotonicMs() + drainMs;
    await Promise.all(listeners.map((listener) => listener.stop({ drainMs, cut: () => openCalls.cut() })));
    // Calls under an Idempotency-Key go on when their connections are gone.
    await openCalls.closed(systemClock, Math.max(0, until - systemClock.monotonicMs()));
    await worker.stop();
    // After the last answer, so that its usage is settled before the connection to the control plane closes.
    await inference.stop();
    control.close();
    await traces?.stop();
    await metricsServer?.stop();
  };
  onShutdown(logger, stop, { drainMs: config.drainDelayMs + config.drainMs });
  const port = listeners[0]?.port ?? config.port;
  logger.info({ port, hostedPort: listeners[1]?.port }, "listening");
  report({ type: "ready", port });
  // Some calls are counted with this vocabulary while their client waits; it is loaded in steps, beside the first calls.
  vocabularyOf("o200k_base").catch((error: unknown) => logger.warn({ err: error }, "the vocabulary o200k cannot be loaded"));
});

/** Every control plane gets the reports of this edge. */
function reportToAll(deps: EdgeDeps, inference: Inference): ReturnType<typeof startReports> {
  const startedAt = new Date(deps.clock.now());
  return startReports({
    ...deps,
    system: {
      reportEdge: async (report, options) => {
        await Promise.all(inference.controlPlanes().map(({ system }) => system.reportEdge(report, options)));
        return {};
      },
    },
    read: () => ({ ...inference.report(), version: VERSION, startedAt }),
  });
}
