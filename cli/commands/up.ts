import { existsSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";
import type { Options } from "../operations/read-values.ts";
import { onAction } from "../operations/register.ts";

/** The program of the package that starts every process of the platform; `.ts` in a clone, `.js` in the package. */
const PROGRAM = join(import.meta.dirname, `../../scripts/tributary${extname(import.meta.filename)}`);
const PORT_MAX = 65_535;

export function registerUp(program: Command, io: Io): void {
  const command = program
    .command("up")
    .description("Start the whole platform on this machine: control plane, edges, trainer node, coordinator. Ctrl-C stops it")
    .option("--config <file>", "LiteLLM config.yaml with models and providers")
    .option("--port <n>", "port of the API and the console (default: 4000)")
    .option("--data-dir <folder>", "folder of the data (default: ./data)");
  onAction(command, io, up);
}

async function up({ io, flags }: Context, _words: readonly string[], { config, port, dataDir }: Options): Promise<void> {
  if (typeof config === "string" && !existsSync(config)) throw usageError(`--config: there is no file ${config}.`);
  const words = [PROGRAM, ...(typeof config === "string" ? ["--config", resolve(config)] : [])];
  const settings = {
    ...(port === undefined ? {} : { PORT: portOf(port) }),
    ...(typeof dataDir === "string" ? { DATA_DIR: resolve(dataDir) } : {}),
  };
  const assigned = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  if (flags.dryRun) io.stdout.write(`${[...assigned, process.execPath, ...words].join(" ")}\n`);
  else io.become(process.execPath, words, { ...io.env, ...settings });
}

function portOf(text: unknown): string {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
    throw usageError(`--port ${String(text)} is not a port from 1 to ${PORT_MAX}.`);
  return String(port);
}
