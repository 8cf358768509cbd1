import { isLoopbackHost } from "../../common/exposed.ts";
import type { RunSettings } from "./settings.ts";
import type { FirstRun } from "./supervisor.ts";

interface BannerInput {
  readonly settings: RunSettings;
  readonly firstRun: FirstRun | undefined;
  readonly masterKeySet: boolean;
  readonly tookMs: number;
}

/** The banner that is printed when all processes are ready. */
export function startBanner({ settings, firstRun, masterKeySet, tookMs }: BannerInput): string {
  const base = `http://${shownHost(settings.host)}:${settings.port}`;
  return [
    "",
    `Tributary is ready (${(tookMs / 1_000).toFixed(1)} s, ${settings.edges} edge${settings.edges === 1 ? "" : "s"})`,
    "",
    `  console                ${base}/ui`,
    `  gateway and platform   ${base}`,
    `  documentation          ${base}/docs`,
    `  participant API        http://${shownHost(settings.trainerHost)}:${settings.trainerPort}`,
    `  control plane (gRPC)   ${shownHost(settings.controlHost)}:${settings.controlPort}`,
    `  data and logs          ${settings.dataDir}`,
    ...openingLines(settings),
    ...(firstRun === undefined ? [] : ["", firstRunLines(firstRun)]),
    "",
    ...firstCall(base, firstRun?.masterKey ?? undefined, masterKeySet),
    "",
  ].join("\n");
}

/** One line per feature that every new account can use, and a warning if the deployment is reachable by strangers. */
function openingLines({ openings, host, port, trainerPort, production }: RunSettings): string[] {
  const open = [
    openings.allowPrivateNodes && "private addresses    of nodes and participants are allowed; disable with ALLOW_PRIVATE_NODES=false",
    openings.allowPrivateWebhooks && "private webhooks     are allowed; disable with ALLOW_PRIVATE_WEBHOOKS=false",
    openings.sharedTrainers && `shared trainer       node_local (port ${trainerPort}); disable with SHARED_TRAINERS=false`,
    openings.testCredits && "test credits         are free; disable with TEST_CREDITS=false",
  ].filter((line) => line !== false);
  const isReachable = !isLoopbackHost(host) && !production;
  const warning = `  WARNING: HOST is ${host} and NODE_ENV is not production: anyone who can reach port ${port} can sign up.`;
  return [
    "",
    open.length === 0 ? "  available to every account: only the API" : "  available to every account that signs up:",
    ...open.map((line) => `    ${line}`),
    ...(isReachable ? [warning, "  Set NODE_ENV=production, SECRET_KEY, ADMIN_PASSWORD and MASTER_KEY."] : []),
  ];
}

/** Separate from the banner, because these values are generated once and must be printed even if the start fails later. */
export function firstRunLines({ adminEmail, adminPassword, masterKey }: FirstRun): string {
  const made = adminPassword !== null || masterKey !== null;
  return [
    `  admin email            ${adminEmail}`,
    `  admin password         ${adminPassword ?? "as set in ADMIN_PASSWORD"}`,
    `  master key             ${masterKey ?? "as set in MASTER_KEY"}`,
    ...(made ? ["  (generated values are shown once; save them)"] : []),
  ].join("\n");
}

function firstCall(base: string, masterKey: string | undefined, masterKeySet: boolean): string[] {
  const key = masterKey ?? (masterKeySet ? "$MASTER_KEY" : "$TRIBUTARY_KEY");
  const hint =
    masterKey === undefined && !masterKeySet
      ? [
          `  TRIBUTARY_KEY: the master key shown at the first start, or a key created with POST ${base}/api/gw/api-keys (see docs/tutorial-platform.md)`,
        ]
      : [];
  const body = '{"model":"echo","messages":[{"role":"user","content":"hello"}]}';
  const call = `curl -s ${base}/v1/chat/completions -H "Authorization: Bearer ${key}" -H 'content-type: application/json' -d '${body}'`;
  return ["  first call:", ...hint, `  ${call}`];
}

function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
