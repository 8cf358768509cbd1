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
    ...accessLines(settings),
    ...(firstRun === undefined ? [] : ["", firstRunLines(firstRun)]),
    "",
    ...firstCall(base, firstRun?.masterKey ?? undefined, masterKeySet),
    "",
  ].join("\n");
}

const WIDTH = 25;
const LOCAL = "processes of this machine";

/** One line for everything that is not open to all: who can use it, and the variable that changes that. */
function accessLines(settings: RunSettings): string[] {
  const { openings, exposed, host, port, production } = settings;
  const accounts = (isOpen: boolean, variable: string) =>
    isOpen ? `every account (${variable}=false closes it)` : `no account (${variable}=true opens it)`;
  const rows: [name: string, whom: string][] = [
    ["sign-up", exposed ? `anyone who reaches the gateway on ${host}:${port}, directly or through a proxy` : LOCAL],
    ["test credits", accounts(openings.testCredits, "TEST_CREDITS")],
    ["nodes at private URLs", accounts(openings.allowPrivateNodes, "ALLOW_PRIVATE_NODES")],
    ["webhooks at private URLs", accounts(openings.allowPrivateWebhooks, "ALLOW_PRIVATE_WEBHOOKS")],
    ["MCP at private URLs", accounts(openings.allowPrivateMcp, "ALLOW_PRIVATE_MCP")],
    ["own strategies", accounts(openings.ownStrategies, "OWN_STRATEGIES")],
    ["shared trainer", accounts(openings.sharedTrainers, "SHARED_TRAINERS")],
    [`trainer port ${settings.trainerPort}`, trainerCallers(settings)],
    ["metrics", `${LOCAL}, and admins`],
    ["gRPC reflection", exposed ? "no one" : `${LOCAL} that have the control token`],
  ];
  const warning = `  WARNING: HOST is ${host} and NODE_ENV is not production: anyone who can reach port ${port} can sign up.`;
  return [
    "",
    "  who can use what:",
    ...rows.map(([name, whom]) => `    ${name.padEnd(WIDTH)} ${whom}`),
    ...(isLoopbackHost(host) || production ? [] : [warning, "  Set NODE_ENV=production, SECRET_KEY, ADMIN_PASSWORD and MASTER_KEY."]),
  ];
}

function trainerCallers({ trainerAnonymous, trainerToken, trainerSecret }: RunSettings): string {
  if (trainerAnonymous) return `${LOCAL}, without seeing data of organizations (TRAINER_ANONYMOUS=false closes it)`;
  if (trainerSecret !== undefined) return "callers that sign with TRAINER_SECRET";
  return trainerToken === undefined ? "only the gateway (TRAINER_TOKEN opens it to callers with that token)" : "callers with TRAINER_TOKEN";
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
