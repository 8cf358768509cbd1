import { isIP } from "node:net";
import { z } from "zod";
import { developerFlag, isOn } from "./config.ts";

/** Settings that determine whether the deployment is exposed. Every process reads them from its own environment. */
export const exposureSettings = {
  HOST: z.string().optional(),
  PUBLIC_URL: z.string().optional(),
  TRUST_PROXY: z.string().optional(),
  NODE_ENV: z.string().optional(),
};

interface Exposure {
  readonly HOST?: string | undefined;
  readonly PUBLIC_URL?: string | undefined;
  readonly TRUST_PROXY?: string | undefined;
  readonly NODE_ENV?: string | undefined;
}

/** Exposed: HOST or PUBLIC_URL is not loopback, a proxy is in front (TRUST_PROXY), or NODE_ENV is production. */
export function isExposed({ HOST, PUBLIC_URL, TRUST_PROXY, NODE_ENV }: Exposure): boolean {
  if (NODE_ENV === "production" || (TRUST_PROXY ?? "").trim() !== "") return true;
  if (HOST !== undefined && HOST !== "" && !isLoopbackHost(HOST)) return true;
  // A URL that cannot be parsed counts as exposed.
  return PUBLIC_URL !== undefined && PUBLIC_URL !== "" && !isLoopbackHost(URL.parse(PUBLIC_URL)?.hostname ?? "");
}

/** The flag if it is set; otherwise true on a developer's machine and false on an exposed deployment. */
export function isOpen(flag: Flag, exposed: boolean): boolean {
  return flag === undefined ? !exposed : isOn(flag);
}

/** Features that an exposed deployment must enable explicitly. If unset, they are on only where the deployment is not exposed. */
export const openingSettings = {
  ...exposureSettings,
  /** Whether tenants may use trainer nodes and participants at private and loopback addresses. */
  ALLOW_PRIVATE_NODES: developerFlag,
  /** Whether webhooks may have private and loopback addresses. */
  ALLOW_PRIVATE_WEBHOOKS: developerFlag,
  /** Whether every team may train on the operator's nodes through `/training/nodes`. */
  SHARED_TRAINERS: developerFlag,
  /** Whether test credits can be bought without payment. If unset, they are off wherever card payments are configured. */
  TEST_CREDITS: developerFlag,
  STRIPE_SECRET_KEY: z.string().optional(),
};

type Flag = z.infer<typeof developerFlag>;

export interface Openings {
  readonly privateNodes: boolean;
  readonly privateWebhooks: boolean;
  readonly sharedTrainers: boolean;
  readonly testCredits: boolean;
}

export function openingsOf(
  settings: Exposure & {
    readonly ALLOW_PRIVATE_NODES?: Flag;
    readonly ALLOW_PRIVATE_WEBHOOKS?: Flag;
    readonly SHARED_TRAINERS?: Flag;
    readonly TEST_CREDITS?: Flag;
    readonly STRIPE_SECRET_KEY?: string | undefined;
  },
): Openings {
  const exposed = isExposed(settings);
  return {
    privateNodes: isOpen(settings.ALLOW_PRIVATE_NODES, exposed),
    privateWebhooks: isOpen(settings.ALLOW_PRIVATE_WEBHOOKS, exposed),
    sharedTrainers: isOpen(settings.SHARED_TRAINERS, exposed),
    testCredits: isOpen(settings.TEST_CREDITS, exposed || settings.STRIPE_SECRET_KEY !== undefined),
  };
}

/** The address on which gRPC listens. It must be loopback, because gRPC has neither TLS nor authentication yet. */
export const controlHostSetting = z
  .string()
  .default("127.0.0.1")
  .refine(
    isLoopbackHost,
    "must be a loopback address: the control plane has no TLS yet. Keep it on 127.0.0.1 and reach it from other machines through a tunnel, such as ssh -L; certificates come with a later release",
  );

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
