import { CliError, canceled, usageError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { type Auth, type Client, createClient } from "./http/client.ts";
import type { Io } from "./io.ts";
import { painter } from "./output/paint.ts";
import { createPrinter, type OutputFlags, type Printer } from "./output/printer.ts";
import { type SettingsFiles, settingsFiles } from "./settings/files.ts";
import { freshToken, notLoggedIn } from "./settings/session.ts";
import { resolveSettings, type SettingFlags, type Settings } from "./settings/settings.ts";

/** Options of every command. */
export interface GlobalFlags extends OutputFlags, SettingFlags {
  readonly yes?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly timeout?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Everything a command needs: terminal, settings, API client and output. */
export interface Context {
  readonly io: Io;
  readonly flags: GlobalFlags;
  readonly files: SettingsFiles;
  readonly settings: Settings;
  readonly client: Client;
  readonly print: Printer;
  /** Asks for confirmation before an irreversible operation; without a terminal, --yes is required. */
  confirm(question: string): Promise<void>;
  /** Reads a secret from a prompt, or from the next line of stdin if `fromStdin` is set. */
  secret(question: string, options: { fromStdin: boolean; flag: string }): Promise<string>;
  /** A client with the same credentials for another base URL. */
  clientOf(baseUrl: string): Client;
  /** The same, whose requests Ctrl-C does not end: for what a command cleans up. */
  detached(baseUrl: string): Client;
}

const TIMEOUT_SECONDS = 30;

export async function createContext(io: Io, given: GlobalFlags): Promise<Context> {
  const files = settingsFiles(io.env);
  const lines = stdinLines(io);
  const flags = given.apiKey === "-" ? { ...given, apiKey: await lines() } : given;
  const settings = resolveSettings({ flags, env: io.env, files });
  const print = createPrinter(io, flags);
  const trace = painter(io.stderr, io.env);
  const clientWith = (baseUrl: string, signal: AbortSignal): Client =>
    createClient({
      baseUrl,
      timeoutMs: timeoutMs(flags.timeout),
      dryRun: flags.dryRun === true,
      idempotencyKey: flags.idempotencyKey,
      signal,
      authorize: (auth) => authorize(auth, { io, settings }),
      trace: flags.verbose ? (line) => io.stderr.write(`${trace("dim", line)}\n`) : undefined,
    });
  const clientOf = (baseUrl: string): Client => clientWith(baseUrl, io.signal);
  if (given.apiKey !== undefined && given.apiKey !== "-") {
    print.note("Other users of this machine can see a key on the command line. Use GW_API_KEY or --api-key - instead.");
  }
  return {
    io,
    flags,
    files,
    settings,
    print,
    client: clientOf(settings.apiUrl.value),
    clientOf,
    detached: (baseUrl) => clientWith(baseUrl, new AbortController().signal),
    async confirm(question) {
      if (flags.yes || flags.dryRun) return;
      if (!io.stdinIsTerminal) throw usageError(`${question} Confirmation needs a terminal.`, "Use --yes to confirm.");
      if (!(await io.prompts.confirm(question))) throw canceled();
    },
    async secret(question, { fromStdin, flag }) {
      if (fromStdin) return lines();
      if (io.stdinIsTerminal) return io.prompts.askSecret(question);
      throw usageError(`${question}: a prompt needs a terminal.`, `Use ${flag} to read it from stdin.`);
    },
  };
}

/** Returns one line of stdin per call. */
function stdinLines(io: Io): () => Promise<string> {
  let rest: string[] | undefined;
  return async () => {
    rest ??= (await io.readStdin()).split(/\r?\n/);
    const line = rest.shift();
    if (!line) throw usageError("The secret is missing on stdin.");
    return line;
  };
}

function timeoutMs(given: string | undefined): number {
  const seconds = given === undefined ? TIMEOUT_SECONDS : Number(given);
  if (!(seconds > 0 && seconds <= 86_400)) throw usageError(`--timeout ${given} is not a number of seconds above 0.`);
  return seconds * 1000;
}

async function authorize(auth: Auth, { io, settings }: { io: Io; settings: Settings }): Promise<Record<string, string>> {
  if (auth === "none") return {};
  const key = settings.apiKey?.value;
  if (auth === "key") {
    if (key) return { "x-gw-api-key": key };
    throw noKey();
  }
  if (auth === "either" && key && settings.tokenOrKey === "key") return { authorization: `Bearer ${key}` };
  const token = await freshToken(io, settings);
  if (token) return { authorization: `Bearer ${token}` };
  if (auth === "optional") return {};
  throw notLoggedIn(settings);
}

export const noKey = (): CliError =>
  new CliError(EXIT.notLoggedIn, {
    error: "An API key is required.",
    code: "NO_API_KEY",
    hint: "Create and save one with `gw keys create --name cli --save`, or set GW_API_KEY.",
  });
