/** The supervisor of `make run`: all of Tributary on one machine, as separate processes that it restarts. */
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Environment } from "../common/config.ts";
import { runMain } from "../common/process.ts";
import { programFile } from "../common/program-files.ts";
import { withSecretFiles } from "../common/secret-files.ts";
import { firstRunLines, startBanner } from "./supervisor/banner.ts";
import type { ChildSpec } from "./supervisor/child.ts";
import { lockFolder } from "./supervisor/folder-lock.ts";
import { metricsPorts } from "./supervisor/metrics-ports.ts";
import { refuseTakenPorts } from "./supervisor/ports.ts";
import { PROGRAMS } from "./supervisor/programs.ts";
import { type RunSettings, readSettings, runSettings } from "./supervisor/settings.ts";
import { createSupervisor, type FirstRun, STOP_MS } from "./supervisor/supervisor.ts";

await runMain("tributary supervisor", run);

async function run(): Promise<void> {
  const startedAt = performance.now();
  const given: NodeJS.ProcessEnv = { ...process.env, ...configArgument() };
  const settings = readSettings(given);
  // Other secrets stay in their files until a process that needs them reads them.
  const environment = withSecretFiles(runSettings, given);
  await refuseTakenPorts([
    { variable: "PORT", host: settings.host, port: settings.port },
    { variable: "TRAINER_PORT", host: settings.trainerHost, port: settings.trainerPort },
    { variable: "CONTROL_PORT", host: settings.controlHost, port: settings.controlPort },
    { variable: "COORDINATOR_PORT", host: settings.coordinatorHost, port: settings.coordinatorPort },
  ]);
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  chmodSync(settings.dataDir, 0o700);
  const unlock = await lockFolder(settings.dataDir);

  let unshown: FirstRun | undefined;
  const supervisor = createSupervisor({
    ...childSpecs(settings, environment),
    logFolder: join(settings.dataDir, "logs"),
    logToTerminal: settings.logToTerminal,
    rotation: { bytes: settings.logFileBytesMax, kept: settings.logFilesKept },
    stopMs: STOP_MS + settings.drainDelayMs + settings.drainMs,
    print: (line) => process.stderr.write(`${line}\n`),
    onFirstRun: (report) => {
      unshown = report;
    },
  });
  let ending = false;
  const end = async (code: number) => {
    // A second signal exits immediately; the children notice that the supervisor is gone and stop.
    if (ending) process.exit(code === 0 ? 1 : code);
    ending = true;
    if (unshown !== undefined) console.log(firstRunLines(unshown));
    console.log("stopping: edges, then coordinator, trainer node and control plane. Running calls may end; a second Ctrl-C stops at once");
    await supervisor.stop();
    unlock();
    process.exit(code);
  };
  process.on("SIGTERM", () => void end(0));
  process.on("SIGINT", () => void end(0));
  supervisor.failed.then(({ code }) => end(code)).catch(() => process.exit(1));

  await supervisor.start();
  if (ending) return;
  const masterKeySet = Boolean(environment["MASTER_KEY"] || environment["MASTER_KEY_FILE"]);
  console.log(startBanner({ settings, firstRun: unshown, masterKeySet, tookMs: performance.now() - startedAt }));
  unshown = undefined;
}

function configArgument(): { CONFIG?: string } {
  const { values } = parseArgs({ options: { config: { type: "string" } } });
  return values.config === undefined ? {} : { CONFIG: values.config };
}

function childSpecs(
  settings: RunSettings,
  environment: Environment,
): { control: ChildSpec; edges: ChildSpec[]; workers: ChildSpec[]; later: ChildSpec[] } {
  const coordinatorUrl = `http://${reachable(settings.coordinatorHost)}:${settings.coordinatorPort}`;
  // Generated at every start unless they are set, because only these processes need them.
  const coordinatorToken = environment["COORDINATOR_TOKEN"] || randomBytes(32).toString("hex");
  // With a secret, every call has to be signed anyway, and callers of other machines do not know a generated token.
  const needsToken = !environment["TRAINER_TOKEN"] && !environment["TRAINER_SECRET"];
  const env = {
    // Type stripping and compilation are cached, so that not every process repeats them at every start.
    NODE_COMPILE_CACHE: resolve(import.meta.dirname, "..", ".cache", "compiled"),
    COORDINATOR_URL: coordinatorUrl,
    // The trainer node fetches parameters of published models here.
    BLOB_SOURCE_URL: coordinatorUrl,
    BLOB_SOURCE_TOKEN: coordinatorToken,
    ...environment,
    COORDINATOR_TOKEN: coordinatorToken,
    CONTROL_TOKEN: environment["CONTROL_TOKEN"] || randomBytes(32).toString("hex"),
    ...(needsToken ? { TRAINER_TOKEN: randomBytes(32).toString("hex") } : {}),
    TRAINER_ANONYMOUS: String(settings.trainerAnonymous),
    HOST: settings.host,
    TRAINER_HOST: settings.trainerHost,
    COORDINATOR_HOST: settings.coordinatorHost,
    PORT: String(settings.port),
    TRAINER_PORT: String(settings.trainerPort),
    CONTROL_PORT: String(settings.controlPort),
    COORDINATOR_PORT: String(settings.coordinatorPort),
    CONTROL_ADDRESS: `${reachable(settings.controlHost)}:${settings.controlPort}`,
    DATA_DIR: settings.dataDir,
    EDGES: String(settings.edges),
    // A set variable names other nodes.
    SERVING_URLS: environment["SERVING_URLS"] || `http://${reachable(settings.trainerHost)}:${settings.trainerPort}`,
    ...(settings.config === undefined ? {} : { CONFIG: settings.config }),
  };
  const metrics = metricsPorts(settings.metricsPort);
  const program = (role: keyof typeof PROGRAMS, own: Environment) => {
    const { entry, nodeFlags, env: ofRole } = PROGRAMS[role];
    return { entry: resolve(import.meta.dirname, "..", programFile(entry)), nodeFlags, env: { ...ofRole, ...env, ...own } };
  };
  const edges = Array.from({ length: settings.edges }, (_, index) => ({
    name: `edge-${index}`,
    ...program("edge", { ...metrics.edge(index), EDGE_INDEX: String(index) }),
  }));
  return {
    control: { name: "control-plane", ...program("control-plane", { ...metrics.controlPlane }) },
    edges,
    workers: [{ name: "trainer", ...program("trainer", { ...metrics.trainer }) }],
    later: [{ name: "coordinator", ...program("coordinator", { ...metrics.coordinator }) }],
  };
}

/** The address by which a local process reaches a listener: a listener on all interfaces is also on loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
