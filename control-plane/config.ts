import { hostname } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import {
  ConfigError,
  countSetting,
  dataDirSetting,
  drainSettings,
  type Environment,
  flagSetting,
  logLevelSetting,
  portSetting,
  readConfig,
  type Settings,
} from "../common/config.ts";
import { isExposed, openingSettings, openingsOf } from "../common/exposed.ts";
import { metricsSettings } from "../common/metrics/metrics-settings.ts";
import { CONTROL_PLACE } from "../common/peers/control-client.ts";
import { controlTokenSettings } from "../common/peers/control-token.ts";
import { readPeerTls, requireTls, tlsSettings } from "../common/peers/tls.ts";
import { secretSetting } from "../common/secret-files.ts";
import { filesBytesMax, filesLimitSettings, recordsBytesMax, recordsLimitSettings } from "../common/storage-limits.ts";
import { traceSettings } from "../common/tracing/trace-settings.ts";
import { archiveSettings, requireOneArchive } from "./archive/archive-config.ts";
import type { OidcSettings } from "./oidc/issuer.ts";
import type { StripeSettings } from "./payments/stripe.ts";

/** The settings of the control plane; docs/settings.md is printed from them. */
export const controlSettings = {
  ...openingSettings,
  ...filesLimitSettings,
  ...recordsLimitSettings,
  ...controlTokenSettings,
  ...tlsSettings,
  ...metricsSettings,
  ...drainSettings,
  ...traceSettings,
  ...archiveSettings,
  CONTROL_PORT: portSetting(4100).describe("Port of the control plane (gRPC)."),
  CONTROL_HOST: z
    .string()
    .default("127.0.0.1")
    .describe("Address that the control plane listens on. Beyond loopback it starts only with `TLS_CERT`."),
  CONTROL_ADVERTISE: z.string().regex(CONTROL_PLACE, "must be host:port").optional().meta({
    description: "Host and port at which edges and other control planes reach this control plane, where several share a MongoDB.",
    shownDefault: "`CONTROL_HOST`:`CONTROL_PORT`",
  }),
  DATA_DIR: dataDirSetting,
  MONGODB_URI: secretSetting(
    z
      .string()
      .regex(/^mongodb(\+srv)?:\/\//, "must begin with mongodb:// or mongodb+srv://")
      .optional()
      .describe("Address of a MongoDB replica set that holds all records instead of the embedded store."),
  ),
  MONGODB_DATABASE: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,63}$/, "must be a plain database name")
    .default("tributary")
    .describe("Name of the database at `MONGODB_URI`."),
  ADMIN_EMAIL: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")
    .toLowerCase()
    .default("admin@localhost")
    .describe("E-mail address of the first administrator."),
  ADMIN_PASSWORD: secretSetting(
    z.string().min(8, "must have 8 or more characters").max(256).optional().meta({
      description: "Password of the first administrator, 8 or more characters.",
      shownDefault: "made at the first start, shown once",
    }),
  ),
  MASTER_KEY: secretSetting(
    z
      .string()
      .regex(/^sk-[\x21-\x7e]{13,253}$/, 'must begin with "sk-" and have 16 or more characters')
      .optional()
      .meta({
        description: "API key that may do everything; begins with `sk-`, 16 or more characters.",
        shownDefault: "made at the first start, shown once",
      }),
  ),
  SECRET_KEY: secretSetting(
    z.string().min(32, "must have 32 or more characters").optional().meta({
      description:
        "What hashes, sealed secrets and tokens are derived from; 32 or more characters. It is the same for every control plane of a store, which refuses another one (exit code 78).",
      shownDefault: "made at the first start, in `DATA_DIR`",
    }),
  ),
  SECRET_KEY_PREVIOUS: secretSetting(
    z
      .string()
      .min(32, "must have 32 or more characters")
      .optional()
      .describe(
        "The former `SECRET_KEY` during its rotation: what was sealed or signed with it stays valid, and the control plane seals it again. Its log says when the setting can be removed: docs/operations/secret-key.md.",
      ),
  ),
  SIGNUP_GRANT_NANO_USD: z
    .string()
    .regex(/^\d{1,18}$/, "must be a whole number of nano-USD")
    .default("0")
    .transform(BigInt)
    .describe("Credits of a new organization, in nano-USD. With `SMTP_URL` it gets them when the address of its user is verified."),
  CREDIT_POLICY: z
    .enum(["document", "strict"])
    .default("document")
    .describe("`strict` refuses a call whose worst case does not fit into the balance; `document` lets the last call take it below zero."),
  PUBLIC_URL: z.url("must be an address like https://example.org").optional(),
  PORT: portSetting(4000),
  SMTP_URL: secretSetting(
    z
      .string()
      .regex(/^smtps?:\/\//, "must begin with smtp:// or smtps://")
      .optional()
      .describe("Mail server. Without one, reset links are written to the log, and e-mail addresses are not verified."),
  ),
  MAIL_FROM: z.string().default("Tributary <no-reply@localhost>").describe("Sender of mails."),
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: "must be an https address" })
    .optional()
    .describe(
      "Issuer of OpenID Connect whose users can sign in, such as `https://accounts.google.com`: docs/sign-in.md. An http address only where the deployment is not exposed.",
    ),
  OIDC_CLIENT_ID: z.string().optional().describe("Client that the gateway is at `OIDC_ISSUER`."),
  OIDC_CLIENT_SECRET: secretSetting(z.string().optional().describe("Secret of `OIDC_CLIENT_ID`.")),
  OIDC_NAME: z.string().min(1).max(40).optional().meta({
    description: "Name of the issuer on the sign-in page: Continue with `OIDC_NAME`.",
    shownDefault: "the host of `OIDC_ISSUER`",
  }),
  FEED_ROWS_KEPT: countSetting(10_000, { min: 100, max: 10_000_000 }).describe(
    "Newest rows of the feed that are retained in each scope of the store; an edge that missed more loads everything again.",
  ),
  CONFIG: z
    .string()
    .transform((path) => resolve(path))
    .optional(),
  ALLOW_UNPRICED_MODELS: flagSetting(false).describe(
    "Whether models without a price are served, at no cost. Models of ollama, vllm, lm_studio and llamafile cost nothing anyway unless they are priced.",
  ),
  TRAINER_PORT: portSetting(5000),
  BUILT_IN_MODELS: flagSetting(true).describe(
    "Whether the model `digits`, which trainer nodes train by themselves, is published at the first start.",
  ),
  SERVING_URLS: z
    .string()
    .transform((text) => text.split(",").map((url) => url.trim().replace(/(?<!\/)\/+$/, "")))
    .refine(
      (urls) => urls.every((url) => /^https?:\/\/[^\s/?#]+(\/[^\s?#]*)?$/.test(url)),
      "must be http or https addresses, separated by commas",
    )
    .optional()
    .meta({
      description: "Addresses of the trainer nodes that serve trained models, separated by commas.",
      shownDefault: "the trainer node of this machine",
    }),
  TRAINER_TOKEN: secretSetting(z.string().optional()),
  TRAINER_SECRET: secretSetting(z.string().optional()),
  STRIPE_WEBHOOK_SECRET: secretSetting(
    z
      .string()
      .optional()
      .describe(
        "Signing secret of the events `checkout.session.*`, `charge.refunded` and `charge.dispute.*`, which Stripe sends to `/api/webhooks/payments/stripe`.",
      ),
  ),
  STRIPE_API_BASE: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .optional()
    .meta({ description: "Address of Stripe's API; tests set another one.", shownDefault: "Stripe's own" }),
  BUDGET_MODE: z.enum(["enforce", "shadow"]).default("enforce").describe("`shadow` logs a call over budget and lets it through."),
  BACKUP_DIR: z
    .string()
    .transform((path) => resolve(path))
    .optional()
    .describe(
      "Folder that the control plane writes backups of the embedded store to, on another disk than `DATA_DIR`. Unset, it makes none by itself.",
    ),
  BACKUP_HOURS: countSetting(24, { min: 1, max: 8760 }).describe("Hours from one backup in `BACKUP_DIR` to the next."),
  BACKUPS_KEPT: countSetting(7, { min: 1, max: 1000 }).describe(
    "Newest backups in `BACKUP_DIR` that are retained; older ones are removed.",
  ),
  LEDGER_CHECKPOINT_HOURS: countSetting(24, { min: 0, max: 8760 }).describe(
    "Hours from one checkpoint of the ledger to the next: the control plane verifies the entries since the last one and writes the next, at which `gw admin ledger verify --mode fast` begins. 0: none.",
  ),
  LOG_INDEX_ROWS: countSetting(2_000_000, { min: 0, max: 100_000_000 }).describe(
    "Usage rows that the control plane has in memory at most, about 100 bytes each, for filters and search in long logs; the newest rows of the logs that were used last. Fewer fit if their texts, such as end users and tags, take more than 200 bytes each on average. 0: none, and long logs are answered in parts.",
  ),
  LOG_LEVEL: logLevelSetting,
};

/** The settings of a control plane, parsed and checked. */
export type ControlConfig = ReturnType<typeof readControlConfig>;

export function readControlConfig(environment: Environment) {
  const settings = readConfig(controlSettings, environment);
  const production = settings.nodeEnv === "production";
  if (production) requireProductionSecrets(settings);
  requireNewSecret(settings);
  const tls = readPeerTls(settings, "control-plane");
  requireTls(tls, { variable: "CONTROL_HOST", host: settings.controlHost });
  refuseMongoBackups(settings);
  requireOneArchive(settings);
  return {
    ...settings,
    // Shared trainers give unpaid compute to every tenant, so an exposed platform has to opt in.
    ...openingsOf(settings),
    mongo: settings.mongodbUri ? { uri: settings.mongodbUri, database: settings.mongodbDatabase } : undefined,
    publicUrl: (settings.publicUrl ?? `http://127.0.0.1:${settings.port}`).replace(/\/$/, ""),
    mail: { smtpUrl: settings.smtpUrl, from: settings.mailFrom },
    /** Trainer nodes that serve trained models: their addresses, and the token and secret they share with the gateway. */
    serving: {
      urls: settings.servingUrls ?? [`http://127.0.0.1:${settings.trainerPort}`],
      token: settings.trainerToken,
      secret: settings.trainerSecret,
    },
    /** Absent: card payments are off. */
    stripe: stripeSettings(settings),
    /** Absent: sign-in by OpenID Connect is off. */
    oidc: oidcSettings(settings),
    /** Where other processes reach this control plane. */
    advertise: settings.controlAdvertise ?? placeOf(settings.controlHost, settings.controlPort),
    /** Absent: peers present a token. */
    tls,
    production,
    exposed: isExposed(settings),
    /** Most bytes of an organization's files. */
    filesBytesMax: filesBytesMax(settings),
    /** Most bytes of its stored responses, conversations and prompts. */
    recordsBytesMax: recordsBytesMax(settings),
  };
}

/** The master key of the configuration file applies if MASTER_KEY is not set. Production requires one of them. */
export function withFileMasterKey(config: ControlConfig, masterKey: string | undefined): ControlConfig {
  const found = config.masterKey ?? masterKey;
  if (config.production && found === undefined) {
    throw new ConfigError(["MASTER_KEY: must be set in production, here or as general_settings.master_key; none is generated there"]);
  }
  return { ...config, masterKey: found };
}

type ReadSettings = Settings<typeof controlSettings>;

function stripeSettings({ stripeSecretKey, stripeWebhookSecret, stripeApiBase }: ReadSettings): StripeSettings | undefined {
  if (stripeSecretKey === undefined && stripeWebhookSecret === undefined) return undefined;
  // With only one of the two set, customers could pay and never receive credits.
  if (stripeSecretKey === undefined || stripeWebhookSecret === undefined) {
    throw new ConfigError(["STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET: set both for card payments, or neither"]);
  }
  return { secretKey: stripeSecretKey, webhookSecret: stripeWebhookSecret, apiBase: stripeApiBase };
}

function oidcSettings(settings: ReadSettings): OidcSettings | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcName } = settings;
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError(["OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: set all three for sign-in by OpenID Connect, or none"]);
  }
  const { protocol, host } = new URL(issuer);
  if (protocol === "http:" && isExposed(settings)) {
    throw new ConfigError(["OIDC_ISSUER: must be an https address, because the deployment is exposed"]);
  }
  return { issuer, clientId, clientSecret, name: oidcName ?? host };
}

function refuseMongoBackups({ backupDir, mongodbUri }: ReadSettings): void {
  if (backupDir === undefined || mongodbUri === undefined) return;
  throw new ConfigError(["BACKUP_DIR: is for the embedded store; back MongoDB up with mongodump (docs/operations/backup.md)"]);
}

function requireNewSecret({ secretKey, secretKeyPrevious }: ReadSettings): void {
  if (secretKeyPrevious === undefined) return;
  if (secretKey === undefined) throw new ConfigError(["SECRET_KEY: must be set if SECRET_KEY_PREVIOUS is set, to the new secret"]);
  if (secretKey === secretKeyPrevious) {
    throw new ConfigError(["SECRET_KEY_PREVIOUS: must not be the same as SECRET_KEY; remove it unless you rotate the secret"]);
  }
}

function requireProductionSecrets({ secretKey, adminPassword, masterKey, config }: ReadSettings): void {
  const needed = { SECRET_KEY: secretKey, ADMIN_PASSWORD: adminPassword, ...(config === undefined ? { MASTER_KEY: masterKey } : {}) };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  if (missing.length > 0) throw new ConfigError(missing.map(([name]) => `${name}: must be set in production; none is generated there`));
}

const ANY_HOST: readonly string[] = ["0.0.0.0", "::"];

/** Host and port of a listener; one that listens on all addresses is known by the machine's name. */
export function placeOf(host: string, port: number): string {
  const name = ANY_HOST.includes(host) ? hostname() : host;
  return `${name.includes(":") ? `[${name}]` : name}:${port}`;
}
