import { systemClock as clock } from "../../common/clock.ts";
import { openChannel } from "../../common/grpc/client.ts";
import { newId } from "../../common/ids.ts";
import { createLogger } from "../../common/logger.ts";
import { type ProcessState, serveProcessMetrics } from "../../common/metrics/serve-metrics.ts";
import { presentedToken } from "../../common/peers/control-token.ts";
import { trustOperator } from "../../common/peers/tls.ts";
import { drainTimes, onShutdown, report, runMain } from "../../common/process.ts";
import { systemRandom as random } from "../../common/random.ts";
import { TrainingServiceService } from "../../proto/gen/tributary/training/v1/training.ts";
import { addBlobMetrics } from "../blobs/blob-metrics.ts";
import { type RunningServer, startServer } from "../server.ts";
import { createAggregation } from "./aggregation.ts";
import { openBlobFolder } from "./blobs/blob-folder.ts";
import { withCopies } from "./blobs/copies/copied-folder.ts";
import { openCopies } from "./blobs/copies/copies-config.ts";
import { startSweeping } from "./blobs/sweep-blobs.ts";
import { watchClaims } from "./claim-health.ts";
import { advertisedAddress, readCoordinatorConfig } from "./config.ts";
import { startCoordinator } from "./coordinator.ts";
import { createCoordinatorMetrics } from "./coordinator-metrics.ts";
import type { CoordinatorDeps } from "./deps.ts";
import { evaluateFor } from "./evaluate-model.ts";
import { withHeartbeat } from "./heartbeat.ts";
import { createCoordinatorApp } from "./http.ts";
import { withOwnStrategies } from "./own-strategies/own-aggregation.ts";
import { createOwnSelection } from "./own-strategies/own-selection.ts";
import { createInnerFederations } from "./participants/inner-federations.ts";
import { createJoinedWork, eitherWay } from "./participants/joined-work.ts";
import { createNodeCalls } from "./participants/node-call.ts";
import { createParticipants } from "./participants/participants.ts";
import { replayFederation } from "./replay.ts";
import { createSecureTools } from "./secure/unmasking.ts";
import { createFunctionCalls } from "./serving/function-calls.ts";
import { digestByFollowing } from "./updates/update-digest.ts";
import { verifyFederation } from "./verify.ts";

/** How long a stopping coordinator keeps its federations, for results of participants that are on their way. */
const RESULTS_MS = 5000;

await runMain("tributary coordinator", async () => {
  const config = readCoordinatorConfig(process.env);
  const logger = createLogger("coordinator", config.logLevel);
  if (config.tls) trustOperator(config.tls);
  const channel = openChannel(config.controlAddress, config.tls ? { tls: config.tls } : { token: presentedToken(config, random) });
  const client = channel.service(TrainingServiceService);
  const folder = openFolder(config);
  const self = newId("co", { clock, random });
  const copies = openCopies(config, { folder: config.blobFolder, self, token: config.coordinatorToken, tls: config.tls, clock, logger });
  const blobs = copies ? withCopies(folder, { copies: copies.copies, logger }) : folder;
  const aggregation = withOwnStrategies(createAggregation({ blobs, recordBytes: config.trainerRecordBytes, logger }), {
    blobs,
    ...ownCodeOf(config),
  });
  const nodes = createNodeCalls({ clock, random, idleMs: config.coordinatorIdleMs, allowPrivate: config.allowPrivateNodes });
  const call = withHeartbeat(nodes.call, { clock, idleMs: config.coordinatorIdleMs });
  const work = createJoinedWork({ clock });
  const inner = createInnerFederations({ client, blobs, clock, evaluate: (model, signal) => evaluateFor(deps, model, signal) });
  const called = createParticipants({ call, blobs, digestOf: digestByFollowing(aggregation.follow) });
  const participants = eitherWay({ called, joined: work.participants, inner });
  const secure = createSecureTools({ call, blobs, logger });
  const deps: CoordinatorDeps = { participants, aggregation, secure, blobs, clock, random, logger, ...limitsOf(config) };
  const health = watchClaims({ clock, logger, control: config.controlAddress, unhealthyMs: config.coordinatorUnhealthyMs });
  let state: ProcessState = "starting";
  const stopping = new AbortController();
  const app = createCoordinatorApp({
    blobs,
    folder,
    self,
    work,
    health: health.check,
    state: () => state,
    stopping: stopping.signal,
    clock,
    random,
    logger,
    replay: (federationId, request, signal) => replayFederation(deps, { client, federationId, request, signal }),
    token: config.coordinatorToken,
    participants,
    functions: createFunctionCalls({ call: nodes.call, participants, blobs, client, clock }),
    verify: (federationId, signal) => verifyFederation(deps, { client, federationId, signal }),
  });
  const server = await startServer(app, {
    host: config.host,
    port: config.coordinatorPort,
    tls: config.tls && { ...config.tls, clients: "required" },
  });
  const metrics = createCoordinatorMetrics({ clock });
  addBlobMetrics(metrics.registry, { folder: config.blobFolder, clock });
  const metricsServer = await serveProcessMetrics(config, metrics.registry, { role: "coordinator", state: () => state });
  const coordinator = startCoordinator(deps, {
    client,
    metrics,
    health: metrics.watched(health),
    federationsMax: config.coordinatorFederationsMax,
    leaseMs: config.coordinatorLeaseMs,
    pollMs: config.coordinatorPollMs,
    address: advertisedAddress(config, server.port),
  });
  const sweeping = startSweeping({
    ...{ blobs, shared: copies?.shared, client, clock, logger },
    everyMs: config.coordinatorSweepMs,
    ageMs: config.coordinatorBlobAgeMs,
  });
  const stop = async (cause: { isOrphan: boolean }) => {
    state = "stopping";
    await stopServing({ server, stopping, coordinator, sweeping }, drainTimes(config, cause));
    await Promise.all([aggregation.close(), secure.close(), nodes.close()]);
    channel.close();
    await metricsServer?.stop();
  };
  onShutdown(logger, stop, { drainMs: config.drainDelayMs + config.drainMs });
  state = "ready";
  logger.info({ port: server.port }, "ready");
  report({ type: "ready", port: server.port });
});

/** Whether own strategies and selection functions may run, and their limits. */
function ownCodeOf({ ownStrategies, strategyPython, strategyMsMax, strategyMemoryMb }: ReturnType<typeof readCoordinatorConfig>) {
  return { allowed: ownStrategies, python: strategyPython, deadlineMs: strategyMsMax, memoryMb: strategyMemoryMb };
}

function limitsOf(config: ReturnType<typeof readCoordinatorConfig>): Pick<CoordinatorDeps, "selectByFunction" | "callsMax"> {
  return { selectByFunction: createOwnSelection(ownCodeOf(config)), callsMax: config.coordinatorCallsMax };
}

function openFolder({
  blobFolder: folder,
  coordinatorBlobBytesMax: bytesMax,
  blobsBytesMaxPerOrganization: bytesMaxPerTenant,
}: ReturnType<typeof readCoordinatorConfig>) {
  return openBlobFolder({ folder, bytesMax, bytesMaxPerTenant });
}

/** Answers running calls and releases the claims; results that arrive within RESULTS_MS still count. */
async function stopServing(
  { server, stopping, ...loops }: { server: RunningServer; stopping: AbortController } & Record<"coordinator" | "sweeping", Loop>,
  { drainDelayMs, drainMs }: ReturnType<typeof drainTimes>,
): Promise<void> {
  server.announceStop();
  await clock.sleep(drainDelayMs);
  stopping.abort();
  const answered = server.stop({ drainMs });
  await Promise.race([answered, clock.sleep(RESULTS_MS)]);
  await Promise.all([loops.coordinator.stop(), loops.sweeping.stop(), answered]);
}

interface Loop {
  stop(): Promise<void>;
}
