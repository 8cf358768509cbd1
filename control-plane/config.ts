import { resolve } from "node:path";
import { z } from "zod";
import {
  allowsPrivateUpstreams,
  ConfigError,
  countSetting,
  flagSetting,
  portSetting,
  privateUpstreamSettings,
  readConfig,
} from "../common/config.ts";
import { controlHostSetting, openingSettings, openingsOf } from "../common/exposed.ts";
import type { StripeSettings } from "./payments/stripe.ts";

const shape = {
  ...openingSettings,
  CONTROL_PORT: portSetting(4100),
  CONTROL_HOST: controlHostSetting,
  DATA_DIR: z.string().default("./data"),
  MONGODB_URI: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\//, "must begin with mongodb:// or mongodb+srv://")
    .optional(),
  MONGODB_DATABASE: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,63}$/, "must be a plain database name")
    .default("tributary"),
  ADMIN_EMAIL: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")
    .default("admin@localhost"),
  ADMIN_PASSWORD: z.string().min(8, "must have 8 or more characters").max(256).optional(),
  MASTER_KEY: z
    .string()
    .regex(/^sk-[\x21-\x7e]{13,253}$/, 'must begin with "sk-" and have 16 or more characters')
    .optional(),
  SECRET_KEY: z.string().min(32, "must have 32 or more characters").optional(),
  SIGNUP_GRANT_NANO_USD: z
    .string()
    .regex(/^\d{1,18}$/, "must be a whole number of nano-USD")
    .default("0"),
  CREDIT_POLICY: z.enum(["document", "strict"]).default("document"),
  PUBLIC_URL: z.url("must be an address like https://example.org").optional(),
  PORT: portSetting(4000),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, "must begin with smtp:// or smtps://")
    .optional(),
  MAIL_FROM: z.string().default("Tributary <no-reply@localhost>"),
  FEED_ROWS_KEPT: countSetting(100_000, { min: 100, max: 10_000_000 }),
  CONFIG: z.string().optional(),
  ALLOW_UNPRICED_MODELS: flagSetting(false),
  TRAINER_PORT: portSetting(5000),
  /** Publishes, at the first start, the models that trainer nodes train by themselves. */
  BUILT_IN_MODELS: flagSetting(true),
  /** Addresses of the trainer nodes that serve trained models, separated by commas; absent: the node of this machine. */
  SERVING_URLS: z
    .string()
    .transform((text) => text.split(",").map((url) => url.trim().replace(/\/+$/, "")))
    .refine(
      (urls) => urls.every((url) => /^https?:\/\/[^\s/?#]+(\/[^\s?#]*)?$/.test(url)),
      "must be http or https addresses, separated by commas",
    )
    .optional(),
  /** The bearer token that those nodes require. */
  TRAINER_TOKEN: z.string().optional(),
  STRIPE_WEBHOOK_SECRET: z.string().optional(),
  STRIPE_API_BASE: z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(),
  BUDGET_MODE: z.enum(["enforce", "shadow"]).default("enforce"),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error"]).default("info"),
  ...privateUpstreamSettings,
};

/** The settings of a control plane, parsed and checked. */
export interface ControlConfig {
  port: number;
  host: string;
  dataFolder: string;
  mongo: { uri: string; database: string } | undefined;
  adminEmail: string;
  adminPassword: string | undefined;
  masterKey: string | undefined;
  rootSecret: string | undefined;
  signupGrant: bigint;
  creditPolicy: "document" | "strict";
  publicUrl: string;
  mail: { smtpUrl: string | undefined; from: string };
  /** Newest rows of the feed that are retained. */
  feedRowsRetained: number;
  /** Path of a LiteLLM config.yaml. */
  gatewayConfigPath: string | undefined;
  /** Admins may set upstream addresses on the operator's own network. */
  allowPrivateUpstreams: boolean;
  /** Serves models without a price, at no cost. */
  allowUnpricedModels: boolean;
  /** Tenants may have trainer nodes and participants on the operator's own network. */
  allowPrivateNodes: boolean;
  /** Organizations may have webhooks on the operator's own network, and without TLS. */
  allowPrivateWebhooks: boolean;
  /** Publishes the models that trainer nodes train by themselves. */
  builtInModels: boolean;
  /** Trainer nodes that serve trained models: their addresses, and the token they share with the gateway. */
  serving: { urls: readonly string[]; token: string | undefined };
  /** Every team may train on those nodes. */
  sharedTrainers: boolean;
  /** Allows purchases with `method: "test"`, which cost nothing. */
  testCredits: boolean;
  /** Absent: card payments are off. */
  stripe: StripeSettings | undefined;
  /** `shadow` logs a call over budget and lets it through. */
  budgetMode: "enforce" | "shadow";
  logLevel: string;
  production: boolean;
}

export function readControlConfig(environment: Readonly<Record<string, string | undefined>>): ControlConfig {
  const settings = readConfig(shape, environment);
  const production = settings.NODE_ENV === "production";
  const openings = openingsOf(settings);
  if (production) requireProductionSecrets(settings);
  return {
    port: settings.CONTROL_PORT,
    host: settings.CONTROL_HOST,
    dataFolder: settings.DATA_DIR,
    mongo: settings.MONGODB_URI ? { uri: settings.MONGODB_URI, database: settings.MONGODB_DATABASE } : undefined,
    adminEmail: settings.ADMIN_EMAIL.toLowerCase(),
    adminPassword: settings.ADMIN_PASSWORD,
    masterKey: settings.MASTER_KEY,
    rootSecret: settings.SECRET_KEY,
    signupGrant: BigInt(settings.SIGNUP_GRANT_NANO_USD),
    creditPolicy: settings.CREDIT_POLICY,
    publicUrl: (settings.PUBLIC_URL ?? `http://127.0.0.1:${settings.PORT}`).replace(/\/$/, ""),
    mail: { smtpUrl: settings.SMTP_URL, from: settings.MAIL_FROM },
    feedRowsRetained: settings.FEED_ROWS_KEPT,
    gatewayConfigPath: settings.CONFIG === undefined ? undefined : resolve(settings.CONFIG),
    allowPrivateUpstreams: allowsPrivateUpstreams(settings),
    allowUnpricedModels: settings.ALLOW_UNPRICED_MODELS,
    allowPrivateNodes: openings.privateNodes,
    allowPrivateWebhooks: openings.privateWebhooks,
    builtInModels: settings.BUILT_IN_MODELS,
    serving: { urls: settings.SERVING_URLS ?? [`http://127.0.0.1:${settings.TRAINER_PORT}`], token: settings.TRAINER_TOKEN },
    // Shared trainers give unpaid compute to every tenant, so an exposed platform has to opt in.
    sharedTrainers: openings.sharedTrainers,
    testCredits: openings.testCredits,
    stripe: stripeSettings(settings),
    budgetMode: settings.BUDGET_MODE,
    logLevel: settings.LOG_LEVEL,
    production,
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

function stripeSettings(settings: {
  STRIPE_SECRET_KEY?: string | undefined;
  STRIPE_WEBHOOK_SECRET?: string | undefined;
  STRIPE_API_BASE?: string | undefined;
}): StripeSettings | undefined {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_BASE: apiBase } = settings;
  if (secretKey === undefined && webhookSecret === undefined) return undefined;
  // With only one of the two set, customers could pay and never receive credits.
  if (secretKey === undefined || webhookSecret === undefined) {
    throw new ConfigError(["STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET: set both for card payments, or neither"]);
  }
  return { secretKey, webhookSecret, apiBase };
}

function requireProductionSecrets(settings: { [name: string]: unknown }): void {
  const needed = ["SECRET_KEY", "ADMIN_PASSWORD", ...(settings["CONFIG"] === undefined ? ["MASTER_KEY"] : [])];
  const missing = needed.filter((name) => settings[name] === undefined);
  if (missing.length > 0) throw new ConfigError(missing.map((name) => `${name}: must be set in production; none is generated there`));
}
