import { Command } from "commander";
import { VERSION } from "../common/version.ts";
import { registerAll } from "./commands/all.ts";
import type { Io } from "./io.ts";
import { SETTING_NAMES } from "./settings/settings.ts";

const ENVIRONMENT = [
  ...SETTING_NAMES.map((name) => `GW_${name.toUpperCase().replaceAll("-", "_")}`),
  "GW_TOKEN",
  "GW_API_KEY",
  "GW_PROFILE",
];

export function buildProgram(io: Io): Command {
  const program = new Command("gw")
    .description("Command-line client of the gateway and its platform: keys, teams, credits, logs, chat, training.")
    .option("--json", "print one JSON document (default when piped)")
    .option("--table", "print tables even when piped")
    .option("--fields <a,b>", "print only these fields; use dots for nested fields: provider.name")
    .option("-q, --quiet", "print IDs only, one per line; for a new key, the key itself")
    .option("-y, --yes", "skip confirmation prompts")
    .option("--dry-run", "print the request without sending it")
    .option("--idempotency-key <key>", "idempotency key of an earlier attempt, to retry it safely")
    .option("--profile <name>", "settings profile")
    .option("--api-url <url>", "API URL (default: http://127.0.0.1:4000)")
    .option("--api-key <key>", "API key; - reads it from stdin")
    .option("--timeout <seconds>", "request timeout (default: 30)")
    .version(VERSION, "--version", "print the version of gw")
    .option("-v, --verbose", "print requests and responses on stderr, with masked secrets")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // A usage error is printed by run.ts, as every other error.
      outputError: () => undefined,
      getOutHelpWidth: () => io.stdout.columns,
      getErrHelpWidth: () => io.stderr.columns,
    })
    .addHelpText(
      "after",
      `\nEnvironment: ${ENVIRONMENT.join(", ")}, NO_COLOR.\nExit codes: 0 ok, 1 other, 2 usage, 3 canceled, 4 not logged in, 5 forbidden,\n6 not found, 7 invalid, 8 out of credit or blocked, 9 server or network, 130 interrupted.`,
    );
  registerAll(program, io);
  return program;
}
