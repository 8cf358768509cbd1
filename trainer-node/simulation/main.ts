import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { systemClock } from "../../common/clock.ts";
import { createLogger } from "../../common/logger.ts";
import { FederationFailed } from "../coordinator/deps.ts";
import { readSimulation } from "./options.ts";
import { simulate } from "./simulate.ts";

// `node trainer-node/simulation/main.ts simulation.json` runs a federation of virtual clients and prints a line per round.

const BAR_COLUMNS = 40;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean" },
    ...{ clients: { type: "string" }, rounds: { type: "string" }, strategy: { type: "string" }, python: { type: "string" } },
    ...{ ray: { type: "boolean" }, "ray-address": { type: "string" } },
  },
});

try {
  await main();
} catch (thrown) {
  process.stderr.write(`${thrown instanceof FederationFailed ? `${thrown.code}: ` : ""}${(thrown as Error).message}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const [path] = positionals;
  const given = path === undefined ? {} : (JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8")) as object);
  const options = readSimulation({ task: "softmax", ...given, ...named() });
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort(new Error("stopped")));
  const write = (line: string) => process.stdout.write(`${line}\n`);
  let before = systemClock.monotonicMs();
  const rounds = await simulate(options, {
    logger: createLogger("simulation", "warn"),
    signal: stopping.signal,
    onRound: ({ round, participants, accuracy, loss, recordHash, evaluations }) => {
      const seconds = (systemClock.monotonicMs() - before) / 1000;
      before = systemClock.monotonicMs();
      const accepted = participants.filter(({ state }) => state === "accepted").length;
      if (values.json) return write(JSON.stringify({ round, accepted, of: participants.length, accuracy, loss, seconds, recordHash }));
      const bar = "█".repeat(Math.round((accuracy ?? 0) * BAR_COLUMNS)).padEnd(BAR_COLUMNS, "·");
      const failed = evaluations.find(({ state }) => state === "failed")?.reason;
      const missing = failed === undefined ? "" : `  no evaluation: ${failed}`;
      const shown = accuracy === undefined ? missing : `  ${bar}  ${accuracy.toFixed(3)}`;
      write(`round ${String(round).padStart(4)}${shown}  ${accepted} of ${participants.length} updates  ${seconds.toFixed(2)} s`);
    },
  });
  const peakMb = peakMegabytes();
  if (values.json) write(JSON.stringify({ rounds: rounds.length, clients: options.clients, peakMb }));
  else write(`${options.clients} clients, ${rounds.length} rounds, ${options.threads} threads; ${Math.round(peakMb)} MB at most`);
}

/** Command line options take precedence over the file. */
function named(): Record<string, unknown> {
  const { clients, rounds, strategy, python, "ray-address": address, ray = address !== undefined } = values;
  return {
    ...(clients === undefined ? {} : { clients: Number(clients) }),
    ...(rounds === undefined ? {} : { rounds: Number(rounds) }),
    ...(strategy === undefined ? {} : { strategy }),
    ...(python === undefined ? {} : { python }),
    ...(ray ? { ray: address ?? true } : {}),
  };
}

/** The peak memory of this process alone, if the system reports it; the fallback may include a parent's. */
function peakMegabytes(): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return Number(kilobytes) / 1000;
  } catch {
    return process.resourceUsage().maxRSS / 1000;
  }
}
