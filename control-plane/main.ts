import { resolve } from "node:path";
import { systemClock as clock } from "../common/clock.ts";
import { openChannel, type Proof } from "../common/grpc/client.ts";
import { redactCredentials } from "../common/log-redaction.ts";
import { createLogger, type Logger } from "../common/logger.ts";
import type { ProcessState } from "../common/metrics/serve-metrics.ts";
import { acceptedTokens, presentedToken } from "../common/peers/control-token.ts";
import { peerUri } from "../common/peers/peer.ts";
import { drainTimes, onShutdown, report, runMain } from "../common/process.ts";
import { systemRandom as random } from "../common/random.ts";
import { slotOf } from "../common/slots.ts";
import { openExporter } from "../common/tracing/open-exporter.ts";
import { openArchive } from "./archive/archive-config.ts";
import { AuditArchiver } from "./archive/audit-archiver.ts";
import { UsageArchiver } from "./archive/usage-archiver.ts";
import { Backups } from "./backup/backups.ts";
import { bootstrap, type FirstRun, masterKeyOf, modelsToCreate } from "./bootstrap.ts";
import { publishBuiltInModels } from "./built-in-models.ts";
import { type ControlConfig, placeOf, readControlConfig, withFileMasterKey } from "./config.ts";
import { CountedCalls } from "./credit/counted-calls.ts";
import { DeploymentModels } from "./credit/deployment-models.ts";
import { EndedCalls } from "./credit/ended-calls.ts";
import { Leases } from "./credit/leases.ts";
import { RateLimiter } from "./credit/rate-limiter.ts";
import { Reservations } from "./credit/reservations.ts";
import { SettlementSpans } from "./credit/settlement-spans.ts";
import { Settler } from "./credit/settler.ts";
import { SharedLimits } from "./credit/shared-limits.ts";
import { loadCommonPasswords } from "./crypto/common-passwords.ts";
import { openKeyring } from "./crypto/open-keyring.ts";
import { createPasswords } from "./crypto/passwords.ts";
import { createReceiptSigner } from "./crypto/receipt-signer.ts";
import { loadRootKeys } from "./crypto/root-secret.ts";
import { RootSecretRotation } from "./crypto/rotate-root-secret.ts";
import { createTokens } from "./crypto/tokens.ts";
import { AddressLimits } from "./domain/address-limits.ts";
import { LoginAttempts } from "./domain/login-attempts.ts";
import { NotOwner } from "./domain/not-owner.ts";
import { EdgeReports } from "./feed/edge-reports.ts";
import { Edges } from "./feed/edges.ts";
import { FeedHub } from "./feed/hub.ts";
import { announceConfiguration } from "./gateway-config/announce-configuration.ts";
import { GatewayConfigFile } from "./gateway-config/config-file.ts";
import { startJobs } from "./jobs/jobs.ts";
import { createMailer } from "./mail/mailer.ts";
import { startMetrics } from "./metrics.ts";
import type { OidcIssuer } from "./oidc/issuer.ts";
import type { Payments } from "./payments/payments.ts";
import { admitByCertificate, admitByToken } from "./peers/admission.ts";
import { createForwarder, type Forwarder } from "./peers/forward.ts";
import { createRefusals } from "./peers/refusals.ts";
import { refusePromoted, watchMark } from "./promote/mark.ts";
import { refuseUnfinishedCopy } from "./promote/position.ts";
import { publishReceiptKey } from "./proof/receipt-keys.ts";
import { Verifications } from "./proof/verifications.ts";
import { type RunningServer, startServer } from "./server.ts";
import { allDeployments } from "./services/catalog/merged-catalog.ts";
import type { ControlDeps } from "./services/deps.ts";
import { createLimitOwners } from "./services/rates/limit-owners.ts";
import { LogIndexes } from "./services/usage/log-index/log-indexes.ts";
import { LogScans } from "./services/usage/log-scans.ts";
import { requireOwner } from "./slots/require-owner.ts";
import type { Slots } from "./slots/slots.ts";
import { LateFence, startSlots } from "./slots/start-slots.ts";
import type { Fence } from "./stores/fence.ts";
import { migrate } from "./stores/migrations/migrate.ts";
import type { Store } from "./stores/store.ts";
import { createWebhookSender } from "./webhooks/send-webhook.ts";

const BOOTSTRAP_AGAIN_MS = 200;
/** Shorter than callers wait for an answer. */
const HAND_OVER_MS = 2_000;
/** Time for the last spans of traces. */
const EXPORT_MS = 3_000;

// The composition root: the only place where ports of the control plane get their adapters.
await runMain("tributary control-plane", async () => {
  const fromEnvironment = readControlConfig(process.env);
  const logger = createLogger("control-plane", fromEnvironment.logLevel);
  const fence = new LateFence();
  const store = await openStore(fromEnvironment, fence);
  const { from, to } = await migrate(store);
  const gateway = await openGateway(fromEnvironment, { store, logger });
  const config = withFileMasterKey(fromEnvironment, gateway.current.masterKey);
  const secrets = await openKeyring(store, loadRootKeys(config, random), random);
  const receipts = createReceiptSigner(secrets);
  const self = { id: random.bytes(16).toString("hex"), address: config.advertise };
  const slots = await startSlots({ store, clock, logger, self }, fence);
  const forwarder = forwarderOf(config, slots);
  const models = new DeploymentModels({ clock, logger, read: () => allDeployments({ store, clock, secrets, gateway, config }) });
  const held = createReservations(store, { slots, forwarder, config, logger, models });
  const edges = new Edges(clock);
  const exporter = await openExporter(config, { clock, logger, role: "control-plane" });
  const ended = new EndedCalls({ edges, clock });
  const deps: ControlDeps = {
    config,
    instance: self.id,
    store,
    clock,
    random,
    logger,
    secrets,
    ...{ passwords: createPasswords(random), isCommonPassword: loadCommonPasswords(), tokens: createTokens(secrets, clock), receipts },
    mailer: await createMailer({ ...config.mail, logger: createLogger("control-plane", config.logLevel, undefined, redactCredentials) }),
    oidc: await openIssuer(config),
    sendWebhook: createWebhookSender({ allowPrivate: config.allowPrivateWebhooks }),
    payments: await openPayments(config),
    ...held,
    slots,
    leases: new Leases({ store, clock, policy: config.creditPolicy, ...held, ended }),
    ended,
    ...createSettler(store, { ...held, slots, config, logger }),
    settlementSpans: exporter && new SettlementSpans({ sink: exporter, clock, random }),
    feed: new FeedHub({ store, clock, logger }),
    edges,
    edgeReports: new EdgeReports(),
    gateway,
    ...createLimits(config),
    backups: new Backups({ store, clock, config, secrets }),
    archiver: new UsageArchiver({ store, clock, logger, parts: openArchive(config, { clock, instance: self.id }), config }),
    auditArchiver: new AuditArchiver({ store, clock, logger, parts: openArchive(config, { clock, instance: `audit-${self.id}` }), config }),
    verifications: new Verifications(),
  };
  let state: ProcessState = "starting";
  const metrics = await startMetrics(deps, { state: () => state, exporter });
  const firstRun = await fillStore(deps);
  await deps.feed.start();
  const server = await startServer(deps, {
    master: await masterKeyOf(deps),
    admit: config.tls ? admitByCertificate(createRefusals(deps)) : admitByToken(acceptedTokens(config, random)),
    elsewhere: forwarder.elsewhere,
  });
  if (config.controlPort === 0) self.address = placeOf(config.controlHost, server.port);
  const stopJobs = startJobs(deps, new RootSecretRotation({ ...deps, keyring: secrets, end: failUncaught }));
  process.on("SIGHUP", () => reload(gateway, logger));
  // Only an embedded store is ever handed over.
  const unwatch = config.mongo ? undefined : watchMark({ store, clock, logger, end: () => process.kill(process.pid, "SIGTERM") });
  const stop = async (cause: { isOrphan: boolean }) => {
    state = "stopping";
    unwatch?.();
    await stopServing(deps, { server, times: drainTimes(config, cause) });
    forwarder.close();
    await stopJobs();
    await Promise.all([store.close(), metrics?.stop(), exporter?.stop(EXPORT_MS)]);
  };
  onShutdown(logger, stop, { drainMs: config.drainDelayMs + config.drainMs });
  state = "ready";
  logger.info({ port: server.port, store: config.mongo ? "mongodb" : "embedded", schemaFrom: from, schemaTo: to }, "ready");
  if (firstRun) report({ type: "first-run", ...firstRun });
  report({ type: "ready", port: server.port });
});

async function openGateway(
  { config: path }: ControlConfig,
  { store, logger }: Pick<ControlDeps, "store" | "logger">,
): Promise<GatewayConfigFile> {
  return GatewayConfigFile.open({ path, environment: process.env, store, clock, logger, namesToCreate: await modelsToCreate({ store }) });
}

/** Hands the slots over, answers running calls and settles what is queued. */
async function stopServing(
  { slots, settler, feed }: ControlDeps,
  { server, times: { drainDelayMs, drainMs } }: { server: RunningServer; times: ReturnType<typeof drainTimes> },
): Promise<void> {
  server.announceStop();
  await clock.sleep(drainDelayMs);
  // What is queued is committed, as far as it does not last; the rest is answered by the next owner.
  await slots.leave(() => Promise.race([settler.idle(), clock.sleep(HAND_OVER_MS)]));
  const stopped = server.stop(drainMs);
  // After the server has sent GOAWAY: an edge whose watch ends opens the next one at another control plane.
  feed.stop();
  await stopped;
  await settler.idle();
}

/** What limits callers, in this process alone. */
function createLimits(config: ControlConfig) {
  return { addressLimits: new AddressLimits(config), loginAttempts: new LoginAttempts(), logScans: new LogScans({ clock }) };
}

/** Sends calls for slots of other control planes to them, to which this one proves itself by its certificate or the token. */
function forwarderOf(config: ControlConfig, slots: Slots): Forwarder {
  const proof: Proof = config.tls ? { tls: config.tls } : { token: presentedToken(config, random) };
  const name = config.tls && peerUri(config.tls.peer);
  return createForwarder({ slots, clock, open: (address) => openChannel(address, proof), name });
}

function reload(gateway: GatewayConfigFile, logger: Logger): void {
  gateway
    .reload()
    .catch((error: unknown) =>
      logger.error({ error: String(error) }, "SIGHUP: the gateway configuration could not be read; the previous one stays in force"),
    );
}

/** Reservations of the organizations that this control plane owns, and the limits that it counts for others. */
function createReservations(
  store: Store,
  {
    slots,
    forwarder,
    config,
    logger,
    models,
  }: { slots: Slots; forwarder: Forwarder; config: ControlConfig; logger: Logger; models: DeploymentModels },
): Pick<ControlDeps, "reservations" | "counted"> {
  const rates = new RateLimiter(clock);
  const counted = new CountedCalls(rates, clock);
  const reservations = new Reservations({
    reader: store,
    clock,
    requireOwner: (organizationId) => requireOwner({ slots }, organizationId),
    policy: config.creditPolicy,
    budgets: { mode: config.budgetMode, logger },
    rates,
    shared: new SharedLimits(createLimitOwners({ slots, forwarder, counted }), clock),
    modelOf: (deploymentId) => models.modelOf(deploymentId),
  });
  slots.onLost((lost) => reservations.forget((organizationId) => lost.has(slotOf(organizationId, slots.count))));
  return { reservations, counted };
}

/** What settles calls, and the logs in memory that follow it, of the organizations that this control plane owns. */
function createSettler(
  store: Store,
  { reservations, slots, config, logger }: Pick<ControlDeps, "reservations" | "slots" | "config" | "logger">,
): Pick<ControlDeps, "settler" | "logIndexes"> {
  const logIndexes = new LogIndexes({ store, clock, logger, rowsMax: config.logIndexRows });
  slots.onLost((lost) => logIndexes.forget((organizationId) => lost.has(slotOf(organizationId, slots.count))));
  return { settler: new Settler({ store, reservations, clock, logger, settledRows: logIndexes }), logIndexes };
}

/** Writes what every start finds or leaves in the store. */
async function fillStore(deps: ControlDeps): Promise<FirstRun | undefined> {
  const firstRun = await bootstrapOnce(deps);
  await publishBuiltInModels(deps);
  await publishReceiptKey(deps.store, deps.receipts, clock.now());
  await announceConfiguration(deps);
  return firstRun;
}

/** An uncaught error ends the process. */
function failUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Of control planes that start at once on a new store, one owns the slots and fills it; the others find that done. */
async function bootstrapOnce(deps: ControlDeps): Promise<FirstRun | undefined> {
  for (;;) {
    try {
      return await bootstrap(deps);
    } catch (thrown) {
      if (!(thrown instanceof NotOwner)) throw thrown;
      await clock.sleep(BOOTSTRAP_AGAIN_MS);
    }
  }
}

async function openPayments({ stripe, publicUrl }: ControlConfig): Promise<Payments | undefined> {
  if (!stripe) return undefined;
  const { createStripePayments } = await import("./payments/stripe.ts");
  return createStripePayments(stripe, { clock, publicUrl });
}

async function openIssuer({ oidc, publicUrl }: ControlConfig): Promise<OidcIssuer | undefined> {
  if (!oidc) return undefined;
  const { createOidcIssuer } = await import("./oidc/openid-client.ts");
  return createOidcIssuer(oidc, { clock, publicUrl });
}

// Loads only the driver of the chosen adapter.
async function openStore(config: ControlConfig, fence: Fence): Promise<Store> {
  if (config.mongo) {
    const { openMongoStore } = await import("./stores/mongo/store.ts");
    const store = await openMongoStore({ ...config.mongo, fence });
    await refuseUnfinishedCopy(store);
    return store;
  }
  const { openEmbeddedStore } = await import("./stores/embedded/store.ts");
  const store = openEmbeddedStore(resolve(config.dataDir, "control-plane"), { keepsRecords: true });
  await refusePromoted(store, config.dataDir);
  return store;
}
