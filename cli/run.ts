import { CommanderError } from "commander";
import { CliError, usageError } from "./cli-error.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { DryRun } from "./http/client.ts";
import type { Io } from "./io.ts";
import { documentJson, lineJson } from "./output/json.ts";
import { painter } from "./output/paint.ts";
import { sanitize } from "./output/values.ts";
import { buildProgram } from "./program.ts";

/** Runs one command line and returns its exit code. */
export async function run(words: readonly string[], io: Io): Promise<ExitCode> {
  try {
    await buildProgram(io).parseAsync([...words], { from: "user" });
    endInterrupted(io);
    return io.signal.aborted ? EXIT.interrupted : EXIT.ok;
  } catch (error) {
    endInterrupted(io);
    return explain(error, words, io);
  }
}

/** The terminal shows ^C at the cursor, so later output starts on a new line. */
function endInterrupted({ signal, stderr }: Io): void {
  if (signal.aborted && stderr.isTerminal) stderr.write("\n");
}

function explain(error: unknown, words: readonly string[], io: Io): ExitCode {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.ok;
    if (error.code.startsWith("commander.help")) return EXIT.usage;
    return explain(fromCommander(error), words, io);
  }
  if (error instanceof DryRun) {
    io.stdout.write(documentJson(error.request));
    return EXIT.ok;
  }
  if (error instanceof CliError) {
    io.stderr.write(words.includes("--json") || !io.stderr.isTerminal ? lineJson(withoutUndefined(error)) : forPeople(error, io));
    return error.exit;
  }
  io.stderr.write(`gw: ${String((error as { stack?: string }).stack ?? error)}\n`);
  return EXIT.failure;
}

/** Commander's message may have a second line: "(Did you mean --name?)". */
function fromCommander({ message }: CommanderError): CliError {
  const [first = "", suggestion] = message.replace(/^error: /, "").split("\n");
  const hint = suggestion?.replace(/^\(|\)$/g, "") ?? "Show the usage with --help.";
  return usageError(`${first.charAt(0).toUpperCase()}${first.slice(1)}.`, hint);
}

const withoutUndefined = ({ facts }: CliError) => ({ ...facts, retryable: facts.retryable ?? false });

function forPeople({ facts }: CliError, io: Io): string {
  const paint = painter(io.stderr, io.env);
  const origin = [facts.code, facts.status, facts.requestId && `request ${facts.requestId}`].filter(Boolean).join(", ");
  const details = Array.isArray(facts.details) ? facts.details.map((one) => `  ${detailLine(one)}\n`).join("") : "";
  const hint = facts.hint ? `${paint("cyan", "hint:")} ${facts.hint}\n` : "";
  return `${paint("red", "error:")} ${sanitize(facts.error)} ${paint("dim", `(${origin})`)}\n${details}${hint}`;
}

/** Formats a detail: {path, message} of the platform or {loc, msg} of the gateway. */
function detailLine(detail: unknown): string {
  const { path, message, loc, msg } = detail as Record<string, unknown>;
  const place = path ?? (Array.isArray(loc) ? loc.join(".") : "");
  return sanitize(`${String(place)}: ${String(message ?? msg ?? "")}`);
}
