import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { CliError, usageError } from "../cli-error.ts";
import type { Check, CheckResult, CheckState } from "../conform/check.ts";
import { gatewayChecks, hostedChecks, pageChecks, strictHostedChecks } from "../conform/gateway-checks.ts";
import { participantChecks } from "../conform/participant-checks.ts";
import { afterCalls, beforeCalls } from "../conform/platform-checks.ts";
import { runCheck } from "../conform/run-check.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import type { Options } from "../operations/read-values.ts";
import { onAction } from "../operations/register.ts";
import { rowsOf, type View } from "../output/printer.ts";
import { progressLine } from "../output/progress.ts";
import { valueAt } from "../output/values.ts";

const CHECK_MAX_MS = 30_000;
const TRAINER_PORT = "5000";

const view: View = {
  kind: "list",
  columns: [
    { title: "document", at: "document" },
    { title: "operation", at: "operation" },
    { title: "result", at: "result", as: "state" },
    { title: "http", at: "status" },
    { title: "duration", at: "ms", as: "ms" },
    { title: "reason", at: "why" },
  ],
  id: "operation",
  empty: "No failures.",
  paged: false,
};

export function registerConform(program: Command, io: Io): void {
  const command = program
    .command("conform [url]")
    .description("Test every documented operation of the gateway and the platform, with a new test account or yours")
    .option("--email <email>", "an account with credits (default: a new account with 1 USD of test credits)")
    .option("--password-stdin", "read the account's password from stdin")
    .option("--model <name>", "the model to call (default: the first chat model)")
    .option("--trainer-url <url>", "URL of a training participant (default: port 5000 of the same host)")
    .option("--hosted-url <url>", "URL of a listener that accepts only x-gw-api-key")
    .option("--only <documents>", `comma-separated: ${DOCUMENTS.join(", ")}`)
    .option("--failed", "show only failed operations");
  onAction(command, io, conform);
}

async function conform(context: Context, [given]: readonly string[], options: Options): Promise<void> {
  const url = (given ?? context.settings.apiUrl.value).replace(/(?<!\/)\/+$/, "");
  if (!URL.canParse(url)) throw usageError(`${url} is not a URL.`);
  const only = parseDocuments(options["only"]);
  // Calls need an API key, which the platform checks create.
  const needed = new Set(only.has("gateway") || only.has("hosted") ? [...only, "platform"] : only);
  const state = needed.has("platform") ? await prepare(context, url, options) : { email: "", password: "", model: "" };
  const plan = planOf(url, context, options).filter(({ check }) => needed.has(check.document));
  const bar = progressLine(context.io);
  const results: CheckResult[] = [];
  for (const { baseUrl, check } of plan) {
    bar.show(results.length, plan.length, check.path);
    results.push(await runCheck(check, { baseUrl, state, timeoutMs: CHECK_MAX_MS, signal: context.io.signal }));
    if (context.io.signal.aborted) break;
  }
  bar.clear();
  const asked = results.filter(({ document }) => only.has(document));
  const failed = asked.filter(({ result }) => result === "fail");
  const meta = { url, passed: asked.length - failed.length, failed: failed.length };
  context.print.answer({ data: options["failed"] ? failed : asked, meta }, view);
  if (!context.print.json) context.print.note(`${meta.passed} of ${asked.length} operations pass at ${url}`);
  if (failed.length > 0) throw new CliError(EXIT.failure, { error: `${failed.length} operations failed.`, code: "NOT_CONFORMANT" });
}

const DOCUMENTS: readonly string[] = ["platform", "gateway", "hosted", "participant", "pages"];

function parseDocuments(given: unknown): ReadonlySet<string> {
  const names = typeof given === "string" ? given.split(",") : DOCUMENTS;
  const unknown = names.find((name) => !DOCUMENTS.includes(name));
  if (unknown !== undefined) throw usageError(`--only: ${unknown} is not one of ${DOCUMENTS.join(", ")}.`);
  return new Set(names);
}

interface Planned {
  readonly baseUrl: string;
  readonly check: Check;
}

/** All checks with their base URLs. Gateway checks run between platform checks, because they need the key that those create and delete. */
function planOf(url: string, { settings }: Context, options: Options): Planned[] {
  const trainer = String(options["trainerUrl"] ?? settings.get("trainer-url")?.value ?? trainerUrlOf(url));
  const hosted = options["hostedUrl"];
  const at = (baseUrl: string, checks: readonly Check[]) => checks.map((check) => ({ baseUrl: baseUrl.replace(/(?<!\/)\/+$/, ""), check }));
  return [
    ...at(url, beforeCalls),
    ...at(url, gatewayChecks),
    ...(typeof hosted === "string" ? at(hosted, strictHostedChecks) : at(url, hostedChecks)),
    ...at(url, afterCalls),
    ...at(trainer, participantChecks),
    ...at(url, pageChecks),
  ];
}

function trainerUrlOf(url: string): string {
  const beside = new URL(url);
  beside.port = TRAINER_PORT;
  return beside.origin;
}

async function prepare(context: Context, url: string, options: Options): Promise<CheckState> {
  const client = context.clientOf(url);
  const model = typeof options["model"] === "string" ? options["model"] : await firstChatModel(context, url);
  if (typeof options["email"] === "string") {
    const password = await context.secret("Password", { fromStdin: options["passwordStdin"] === true, flag: "--password-stdin" });
    return { email: options["email"], password, model };
  }
  const name = `conform-${randomBytes(6).toString("hex")}`;
  const [email, password] = [`${name}@example.org`, randomBytes(12).toString("base64url")];
  const { body } = await client.send({ method: "POST", path: "/api/auth/signup", auth: "none", body: { email, password, name } });
  const headers = { authorization: `Bearer ${String(valueAt(body, "token"))}` };
  await client.send({ method: "POST", path: "/api/credits/purchase", auth: "none", headers, body: { amountUsd: "1.00", method: "test" } });
  context.print.note(`Created the account ${email} with 1 USD of test credits.`);
  return { email, password, model };
}

async function firstChatModel(context: Context, url: string): Promise<string> {
  const { body } = await context
    .clientOf(url)
    .send({ method: "GET", path: "/api/models", query: { type: "chat", pageSize: "1" }, auth: "none" });
  const name = valueAt(rowsOf(body)[0], "name");
  if (typeof name !== "string") throw usageError("The server has no chat model.", "Choose a model with --model.");
  return name;
}
