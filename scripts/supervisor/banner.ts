import { isLoopbackHost } from "../../common/exposed.ts";
import type { RunSettings } from "./settings.ts";
import type { FirstRun } from "./supervisor.ts";

interface BannerInput {
  readonly settings: RunSettings;
  readonly firstRun: FirstRun | undefined;
  readonly masterKeySet: boolean;
  readonly tookMs: number;
}

/** What a person sees when all is ready. */
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

/** One line for everything that is open to each account that signs up, and a warning where strangers can reach it. */
function openingLines({ openings, host, port, trainerPort, production }: RunSettings): string[] {
  const open = [
    openings.allowPrivateNodes && "private addresses    of nodes and participants may be named; ALLOW_PRIVATE_NODES=false refuses them",
    openings.allowPrivateWebhooks && "private webhooks     may be named; ALLOW_PRIVATE_WEBHOOKS=false refuses them",
    openings.sharedTrainers && `shared trainer       node_local (port ${trainerPort}); SHARED_TRAINERS=false closes it`,
    openings.testCredits && "test credits         can be bought for no money; TEST_CREDITS=false ends that",
  ].filter((line) => line !== false);
  const isReachable = !isLoopbackHost(host) && !production;
  const warning = `  WARNING: HOST is ${host} and NODE_ENV is not production: all who reach port ${port} can sign up here.`;
  return [
    "",
    open.length === 0 ? "  open to every account: nothing beyond the API" : "  open to every account that signs up:",
    ...open.map((line) => `    ${line}`),
    ...(isReachable ? [warning, "  Set NODE_ENV=production, with SECRET_KEY, ADMIN_PASSWORD and MASTER_KEY of your own."] : []),
  ];
}

/** Kept apart, for these are printed even when the start fails later: they are made once and never again. */
export function firstRunLines({ adminEmail, adminPassword, masterKey }: FirstRun): string {
  const made = adminPassword !== null || masterKey !== null;
  return [
    `  admin e-mail           ${adminEmail}`,
    `  admin password         ${adminPassword ?? "as you set it in ADMIN_PASSWORD"}`,
    `  master key             ${masterKey ?? "as you set it"}`,
    ...(made ? ["  (what was made is shown once; keep it)"] : []),
  ].join("\n");
}

function firstCall(base: string, masterKey: string | undefined, masterKeySet: boolean): string[] {
  const key = masterKey ?? (masterKeySet ? "$MASTER_KEY" : "$TRIBUTARY_KEY");
  const hint =
    masterKey === undefined && !masterKeySet
      ? [`  TRIBUTARY_KEY: the master key shown at the first start, or a key made through POST ${base}/api/gw/api-keys (see the README)`]
      : [];
  const body = '{"model":"echo","messages":[{"role":"user","content":"hello"}]}';
  const call = `curl -s ${base}/v1/chat/completions -H "Authorization: Bearer ${key}" -H 'content-type: application/json' -d '${body}'`;
  return ["  first call:", ...hint, `  ${call}`];
}

function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
