import { isIP } from "node:net";
import { z } from "zod";
import { ConfigError, developerFlag, type Environment, isOn, listSetting, readConfig, type Settings } from "./config.ts";
import { secretSetting } from "./secret-files.ts";

/** Settings that determine whether the deployment is exposed. Every process reads them from its own environment. */
export const exposureSettings = {
  HOST: z
    .string()
    .default("127.0.0.1")
    .describe(
      "Address that the edges listen on, and the trainer node and the coordinator unless they have their own. Beyond loopback: exposed.",
    ),
  PUBLIC_URL: z.string().optional().meta({
    description: "Address at which people reach the gateway; links in mails begin with it. Beyond loopback: exposed.",
    shownDefault: "`http://127.0.0.1:PORT`",
  }),
  TRUST_PROXY: listSetting().describe(
    "Addresses or CIDRs of proxies whose `x-forwarded-for` is trusted, separated by commas. Set: exposed.",
  ),
  NODE_ENV: z
    .string()
    .optional()
    .describe("`production`: exposed, and secrets have to be set (`SECRET_KEY`, `ADMIN_PASSWORD`, `MASTER_KEY`) instead of being made up."),
};

type Exposure = Partial<Settings<typeof exposureSettings>>;

/** Exposed: HOST or PUBLIC_URL is not loopback, a proxy is in front (TRUST_PROXY), or NODE_ENV is production. */
export function isExposed({ host, publicUrl, trustProxy = [], nodeEnv }: Exposure): boolean {
  if (nodeEnv === "production" || trustProxy.length > 0) return true;
  if (host !== undefined && !isLoopbackHost(host)) return true;
  // A URL that cannot be parsed counts as exposed.
  return publicUrl !== undefined && !isLoopbackHost(URL.parse(publicUrl)?.hostname ?? "");
}

/** An exposed deployment does not start with unverified certificates: credentials would be sent to whatever server answers. */
export function refuseUnverifiedTls(environment: Environment): void {
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0" || !isExposed(readConfig(exposureSettings, environment))) return;
  throw new ConfigError([
    "NODE_TLS_REJECT_UNAUTHORIZED: must not be 0 on an exposed deployment, as TLS certificates would not be verified; unset it, and name the authority of your own certificates with NODE_EXTRA_CA_CERTS",
  ]);
}

/** The flag if it is set; otherwise true on a developer's machine and false on an exposed deployment. */
export function isOpen(flag: Flag, exposed: boolean): boolean {
  return flag === undefined ? !exposed : isOn(flag);
}

const OPEN_UNLESS_EXPOSED = "true; false when exposed";

/** Settings that an exposed deployment must not have open by accident. Unset: open where the deployment is not exposed. */
export const openingSettings = {
  ...exposureSettings,
  ALLOW_PRIVATE_NODES: developerFlag.meta({
    description: "Whether tenants may name trainer nodes and participants at private and loopback addresses.",
    shownDefault: OPEN_UNLESS_EXPOSED,
  }),
  ALLOW_PRIVATE_WEBHOOKS: developerFlag.meta({
    description: "Whether organizations may have webhooks at private and loopback addresses, and without TLS.",
    shownDefault: OPEN_UNLESS_EXPOSED,
  }),
  ALLOW_PRIVATE_MCP: developerFlag.meta({
    description: "Whether organizations may have MCP servers at private and loopback addresses, and without TLS.",
    shownDefault: OPEN_UNLESS_EXPOSED,
  }),
  ALLOW_PRIVATE_UPSTREAMS: developerFlag.meta({
    description:
      "Whether providers may be at private and loopback addresses, or have names that resolve to them. Kinds that run on the operator's machines may be anyway (ollama, vllm, lm_studio, llamafile, openai_compatible), and so may addresses that the configuration file names. It holds for an `api_base` that a client gives, too, without these exceptions.",
    shownDefault: OPEN_UNLESS_EXPOSED,
  }),
  OWN_STRATEGIES: developerFlag.meta({
    description:
      "Whether organizations may have own aggregation strategies, source code that coordinators run in processes of their own. Those have a deadline, a memory limit and an empty environment, and run as the user of the coordinator.",
    shownDefault: OPEN_UNLESS_EXPOSED,
  }),
  SHARED_TRAINERS: developerFlag.meta({
    description: "Whether every team may train on the operator's nodes, at `/training/nodes`.",
    shownDefault: OPEN_UNLESS_EXPOSED,
  }),
  TEST_CREDITS: developerFlag.meta({
    description:
      'Whether credits can be bought with `"method": "test"`, for no money. A purchase without a `method` is `test` where they are on, else `card`.',
    shownDefault: `${OPEN_UNLESS_EXPOSED} or with Stripe`,
  }),
  STRIPE_SECRET_KEY: secretSetting(
    z.string().optional().describe("Secret key of Stripe: turns card payments on, together with `STRIPE_WEBHOOK_SECRET`."),
  ),
};

type Flag = z.infer<typeof developerFlag>;

export interface Openings {
  readonly allowPrivateNodes: boolean;
  readonly allowPrivateWebhooks: boolean;
  readonly allowPrivateMcp: boolean;
  readonly allowPrivateUpstreams: boolean;
  readonly ownStrategies: boolean;
  readonly sharedTrainers: boolean;
  readonly testCredits: boolean;
}

export function openingsOf(settings: Partial<Settings<typeof openingSettings>>): Openings {
  const exposed = isExposed(settings);
  return {
    allowPrivateNodes: isOpen(settings.allowPrivateNodes, exposed),
    allowPrivateWebhooks: isOpen(settings.allowPrivateWebhooks, exposed),
    allowPrivateMcp: isOpen(settings.allowPrivateMcp, exposed),
    allowPrivateUpstreams: isOpen(settings.allowPrivateUpstreams, exposed),
    ownStrategies: isOpen(settings.ownStrategies, exposed),
    sharedTrainers: isOpen(settings.sharedTrainers, exposed),
    testCredits: isOpen(settings.testCredits, exposed || settings.stripeSecretKey !== undefined),
  };
}

/** 127.0.0.0/8, ::1 and localhost, in every spelling. 0.0.0.0 and :: mean all interfaces, so they are not loopback. */
export function isLoopbackHost(host: string): boolean {
  const plain = host
    .trim()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (plain === "localhost" || plain.endsWith(".localhost")) return true;
  const canonical = isIP(plain) === 6 ? new URL(`http://[${plain.split("%")[0]}]`).hostname.slice(1, -1) : plain;
  return canonical === "::1" || /^::ffff:7f[0-9a-f]{2}:/.test(canonical) || (isIP(canonical) === 4 && canonical.startsWith("127."));
}
