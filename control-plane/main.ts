import { resolve } from "node:path";
import { systemClock as clock } from "../common/clock.ts";
import { createLogger } from "../common/logger.ts";
import { acceptedTokens } from "../common/peers/control-token.ts";
import { onShutdown, report, runMain } from "../common/process.ts";
import { systemRandom as random } from "../common/random.ts";
import { Backups } from "./backup/backups.ts";
import { bootstrap, type FirstRun, masterKeyOf, modelsToCreate } from "./bootstrap.ts";
import { publishBuiltInModels } from "./built-in-models.ts";
import { type ControlConfig, readControlConfig, withFileMasterKey } from "./config.ts";
import { Leases } from "./credit/leases.ts";
import { Reservations } from "./credit/reservations.ts";
import { Settler } from "./credit/settler.ts";
import { loadCommonPasswords } from "./crypto/common-passwords.ts";
import { openKeyring } from "./crypto/open-keyring.ts";
import { createPasswords } from "./crypto/passwords.ts";
import { createReceiptSigner } from "./crypto/receipt-signer.ts";
import { loadRootKeys } from "./crypto/root-secret.ts";
import { RootSecretRotation } from "./crypto/rotate-root-secret.ts";
import { createTokens } from "./crypto/tokens.ts";
import { AddressLimits } from "./domain/address-limits.ts";
import { LoginAttempts } from "./domain/login-attempts.ts";
import { EdgeReports } from "./feed/edge-reports.ts";
import { Edges } from "./feed/edges.ts";
import { FeedHub } from "./feed/hub.ts";
import { announceConfiguration } from "./gateway-config/announce-configuration.ts";
import { GatewayConfigFile } from "./gateway-config/config-file.ts";
import { startJobs } from "./jobs/jobs.ts";
import { createMailer } from "./mail/mailer.ts";
import type { OidcIssuer } from "./oidc/issuer.ts";
import type { Payments } from "./payments/payments.ts";
import { admitByCertificate, admitByToken } from "./peers/admission.ts";
import { createRefusals } from "./peers/refusals.ts";
import { publishReceiptKey } from "./proof/receipt-keys.ts";
import { startServer } from "./server.ts";
import type { ControlDeps } from "./services/deps.ts";
import { LogScans } from "./services/usage/log-scans.ts";
import { migrate } from "./stores/migrations/migrate.ts";
import type { Store } from "./stores/store.ts";
import { createWebhookSender } from "./webhooks/send-webhook.ts";

// The composition root: the only place where ports of the control plane get their adapters.
await runMain("tributary control-plane", async () => {
  const fromEnvironment = readControlConfig(process.env);
  const logger = createLogger("control-plane", fromEnvironment.logLevel);
  const store = await openStore(fromEnvironment);
  const { from, to } = await migrate(store);
  const gateway = await GatewayConfigFile.open({
    path: fromEnvironment.config,
    environment: process.env,
    store,
    clock,
    logger,
    namesToCreate: await modelsToCreate({ store }),
  });
  const config = withFileMasterKey(fromEnvironment, gateway.current.masterKey);
  const secrets = await openKeyring(store, loadRootKeys(config, random), random);
  const receipts = createReceiptSigner(secrets);
  const instance = random.bytes(16).toString("hex");
  const reservations = new Reservations({
    reader: store,
    clock,
    policy: config.creditPolicy,
    budgets: { mode: config.budgetMode, logger },
  });
  const edges = new Edges(clock);
  const deps: ControlDeps = {
    config,
    instance,
    store,
    clock,
    random,
    logger,
    secrets,
    passwords: createPasswords(random),
    isCommonPassword: loadCommonPasswords(),
    tokens: createTokens(secrets, clock),
    receipts,
    mailer: createMailer({ ...config.mail, logger }),
    oidc: await openIssuer(config),
    sendWebhook: createWebhookSender({ allowPrivate: config.allowPrivateWebhooks }),
    payments: await openPayments(config),
    reservations,
    leases: new Leases({ store, clock, policy: config.creditPolicy, reservations, caughtUp: () => edges.caughtUp() }),
    settler: new Settler({ store, reservations, clock, logger }),
    feed: new FeedHub({ store, clock, logger }),
    edges,
    edgeReports: new EdgeReports(),
    gateway,
    addressLimits: new AddressLimits(config),
    loginAttempts: new LoginAttempts(),
    logScans: new LogScans({ clock }),
    backups: new Backups({ store, clock, config, secrets }),
  };
  const firstRun = await fillStore(deps);
  await deps.feed.start();
  const server = await startServer(deps, {
    master: await masterKeyOf(deps),
    admit: config.tls ? admitByCertificate(createRefusals(deps)) : admitByToken(acceptedTokens(config, random)),
  });
  const stopJobs = startJobs(deps, new RootSecretRotation({ ...deps, keyring: secrets, end: failUncaught }));
  process.on("SIGHUP", () => {
    gateway
      .reload()
      .catch((error: unknown) =>
        logger.error({ error: String(error) }, "SIGHUP: the gateway configuration could not be read; the previous one stays in force"),
      );
  });
  onShutdown(logger, async () => {
    deps.feed.stop();
    await server.stop();
    await deps.settler.idle();
    await stopJobs();
    await store.close();
  });
  logger.info({ port: server.port, store: config.mongo ? "mongodb" : "embedded", schemaFrom: from, schemaTo: to }, "ready");
  if (firstRun) report({ type: "first-run", ...firstRun });
  report({ type: "ready", port: server.port });
});

/** Writes what every start finds or leaves in the store. */
async function fillStore(deps: ControlDeps): Promise<FirstRun | undefined> {
  const firstRun = await bootstrap(deps);
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
async function openStore(config: ControlConfig): Promise<Store> {
  if (config.mongo) {
    const { openMongoStore } = await import("./stores/mongo/store.ts");
    return openMongoStore(config.mongo);
  }
  const { openEmbeddedStore } = await import("./stores/embedded/store.ts");
  return openEmbeddedStore(resolve(config.dataDir, "control-plane"));
}
