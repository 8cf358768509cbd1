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
    .description("Any operation of the platform or the gateway, by its address")
    .option("-d, --data <json>", "body; @file reads a file, @- standard input")
    .option(
      "-H, --header <line>",
      "a header, as name: value; may be repeated",
      (line: string, all: string[]) => [...all, line],
      [] as string[],
    )
    .option("--as <who>", "user (the logged-in person), key (the API key) or none; by default what the path wants")
    .option("-i, --include", "status and headers before the body");
  onAction(command, io, sendAny);
}

async function sendAny(context: Context, [given = "", path = ""]: readonly string[], options: Options): Promise<void> {
  const method = given.toUpperCase();
  if (!METHODS.has(method)) throw usageError(`${given} is no method.`, `One of ${[...METHODS].join(", ")}.`);
  if (!path.startsWith("/")) throw usageError(`${path} must begin with /.`);
  const data = options["data"];
  const response = await context.client.open({
    method,
    path,
    auth: whoFor(context, path, options["as"]),
    headers: headersOf(options["header"] as readonly string[]),
    untimed: true,
    ...(typeof data === "string" ? { body: await readData(data, context.io) } : {}),
  });
  if (options["include"]) {
    context.print.text(`HTTP ${response.status}\n${[...response.headers].map(([name, value]) => `${name}: ${value}\n`).join("")}\n`);
  }
  await passOn(context, response);
}

/** JSON is indented; anything else, streams too, leaves as it came. */
async function passOn({ print, io }: Context, response: Response): Promise<void> {
  if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) {
    const text = await response.text();
    return print.text(documentJson(fromJson(text)));
  }
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) io.stdout.write(decoder.decode(chunk, { stream: true }));
}

/** The platform is a person's, the gateway a key's; training takes either. */
function whoFor({ settings }: Context, path: string, wanted: unknown): Auth {
  if (wanted === "user" || wanted === "key" || wanted === "none") return wanted;
  if (wanted !== undefined) throw usageError("--as takes user, key or none.");
  if (/^\/(api|training)\//.test(path)) return (settings.token ?? settings.apiKey) ? "either" : "none";
  return settings.apiKey ? "key" : "none";
}

function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
      if (!name) throw usageError(`--header ${line}: write it as name: value.`);
      return [name.toLowerCase(), value ?? ""];
    }),
  );
}

async function readData(data: string, io: Io): Promise<unknown> {
  const text = data === "@-" ? await io.readStdin() : data.startsWith("@") ? readFile(data.slice(1)) : data;
  try {
    return fromJson(text);
  } catch {
    throw usageError("--data is no JSON.", "@file reads it from a file.");
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw usageError(`${path} cannot be read (${(cause as { code?: string }).code ?? "unknown"}).`);
  }
}
