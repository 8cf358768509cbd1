import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { fromJson } from "../../common/json.ts";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Auth } from "../http/client.ts";
import type { Io } from "../io.ts";
import type { Options } from "../operations/read-values.ts";
import { onAction } from "../operations/register.ts";
import { documentJson } from "../output/json.ts";

const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

export function registerApi(program: Command, io: Io): void {
  const command = program
    .command("api <method> <path>")
    .description("Send a request to any endpoint of the platform or the gateway")
    .option("-d, --data <json>", "request body; @file reads a file, @- reads stdin")
    .option(
      "-H, --header <line>",
      "request header, as name: value; can be repeated",
      (line: string, all: string[]) => [...all, line],
      [] as string[],
    )
    .option("--as <who>", "credential: user (login token), key (API key) or none (default: by path)")
    .option("-i, --include", "print status and headers before the body");
  onAction(command, io, sendRequest);
}

async function sendRequest(context: Context, [given = "", path = ""]: readonly string[], options: Options): Promise<void> {
  const method = given.toUpperCase();
  if (!METHODS.has(method)) throw usageError(`${given} is not a supported method.`, `Use one of ${[...METHODS].join(", ")}.`);
  if (!path.startsWith("/")) throw usageError(`${path} must start with /.`);
  const data = options["data"];
  const response = await context.client.open({
    method,
    path,
    auth: authFor(context, path, options["as"]),
    headers: headersOf(options["header"] as readonly string[]),
    untimed: true,
    ...(typeof data === "string" ? { body: await readData(data, context.io) } : {}),
  });
  if (options["include"]) {
    context.print.text(`HTTP ${response.status}\n${[...response.headers].map(([name, value]) => `${name}: ${value}\n`).join("")}\n`);
  }
  await writeBody(context, response);
}

/** Indents JSON and writes everything else, including streams, unchanged. */
async function writeBody({ print, io }: Context, response: Response): Promise<void> {
  if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) {
    const text = await response.text();
    return print.text(documentJson(fromJson(text)));
  }
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) io.stdout.write(decoder.decode(chunk, { stream: true }));
}

/** The platform API takes a user's token, the gateway an API key, and the training API takes both. */
function authFor({ settings }: Context, path: string, wanted: unknown): Auth {
  if (wanted === "user" || wanted === "key" || wanted === "none") return wanted;
  if (wanted !== undefined) throw usageError("--as takes user, key or none.");
  if (/^\/(api|training)\//.test(path)) return (settings.token ?? settings.apiKey) ? "either" : "none";
  return settings.apiKey ? "key" : "none";
}

function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([\w-]+):\s*(.*)$/s.exec(line) ?? [];
      if (!name) throw usageError(`--header ${line}: use the form name: value.`);
      return [name.toLowerCase(), value ?? ""];
    }),
  );
}

async function readData(data: string, io: Io): Promise<unknown> {
  const text = data === "@-" ? await io.readStdin() : data.startsWith("@") ? readFile(data.slice(1)) : data;
  try {
    return fromJson(text);
  } catch {
    throw usageError("--data is not valid JSON.", "Use @file to read it from a file.");
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw usageError(`${path} cannot be read (${(cause as { code?: string }).code ?? "unknown"}).`);
  }
}
