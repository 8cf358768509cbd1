import { Command } from "commander";
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
    .description("Command line of the gateway and its platform: keys, teams, credits, logs, chat, training.")
    .option("--json", "one JSON document on stdout, as it is when piped")
    .option("--table", "a table also when piped")
    .option("--fields <a,b>", "only these fields; a dot goes into one: provider.name")
    .option("-q, --quiet", "ids only, one in a line; of a new key the key itself")
    .option("-y, --yes", "do not ask before removing things")
    .option("--dry-run", "show what would be sent, change nothing")
    .option("--idempotency-key <key>", "the key of an earlier try: what was done is not done again")
    .option("--profile <name>", "which profile of the settings")
    .option("--api-url <url>", "address of the platform (http://127.0.0.1:4000)")
    .option("--api-key <key>", "API key for chat and models; - reads it from stdin")
    .option("--timeout <seconds>", "how long an answer may take (30)")
    .option("-v, --verbose", "show requests and answers on stderr, secrets masked")
    .exitOverride()
    .showHelpAfterError("(gw --help lists the commands)")
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns,
      getErrHelpWidth: () => io.stderr.columns,
    })
    .addHelpText(
      "after",
      `\nEnvironment: ${ENVIRONMENT.join(", ")}, NO_COLOR.\nExit codes: 0 ok, 1 other, 2 usage, 3 cancelled, 4 not logged in, 5 forbidden,\n6 not found, 7 invalid, 8 out of credit or blocked, 9 server or network, 130 interrupted.`,
    );
  registerAll(program, io);
  return program;
}
