import { statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import type { ApiAnswer } from "../http/client.ts";
import type { Io } from "../io.ts";
import { onAction } from "../operations/register.ts";
import type { View } from "../output/printer.ts";
import { format, valueAt } from "../output/values.ts";

interface DoctorResult {
  readonly check: string;
  readonly result: "ok" | "warn" | "fail";
  readonly detail: string;
}

const SKEW_MAX_MS = 30_000;

const view: View = {
  kind: "list",
  columns: [
    { title: "check", at: "check" },
    { title: "result", at: "result", as: "state" },
    { title: "detail", at: "detail" },
  ],
  id: "check",
  paged: false,
};

export function registerDoctor(program: Command, io: Io): void {
  onAction(program.command("doctor").description("Diagnose problems: API URL, clock, login, API key, credits, trainer node"), io, doctor);
}

async function doctor(context: Context): Promise<void> {
  const reached = await reach(context);
  const rest =
    reached.result === "fail" ? [] : [clock(context, reached.answer), await login(context), await key(context), await credits(context)];
  const data: DoctorResult[] = [
    settings(context),
    { check: "server", result: reached.result, detail: reached.detail },
    ...rest,
    await trainer(context),
  ];
  context.print.answer({ data }, view);
  if (reached.result === "fail") throw new CliError(EXIT.server, { error: reached.detail, code: "NETWORK", retryable: true });
  const failed = data.filter(({ result }) => result === "fail");
  if (failed.length > 0) throw new CliError(EXIT.failure, { error: `${failed.length} of ${data.length} checks failed.`, code: "DOCTOR" });
}

function settings({ settings: { profile, apiUrl }, files }: Context): DoctorResult {
  const detail = `profile ${profile}, ${apiUrl.value} (${apiUrl.from})`;
  const mode = statSync(join(files.folder, "credentials.json"), { throwIfNoEntry: false })?.mode;
  if (mode !== undefined && (mode & 0o077) !== 0) {
    return {
      check: "settings",
      result: "fail",
      detail: `other users can read ${join(files.folder, "credentials.json")}: run chmod 600 on it`,
    };
  }
  return { check: "settings", result: "ok", detail };
}

async function reach({ client }: Context): Promise<DoctorResult & { answer?: ApiAnswer }> {
  const began = performance.now();
  try {
    const answer = await client.send({ method: "GET", path: "/health/readiness", auth: "none" });
    const took = Math.round(performance.now() - began);
    return { check: "server", result: "ok", detail: `${String(valueAt(answer.body, "status"))}, responded in ${took} ms`, answer };
  } catch (error) {
    return { check: "server", result: "fail", detail: problem(error) };
  }
}

function clock({ io }: Context, answer: ApiAnswer | undefined): DoctorResult {
  const theirs = Date.parse(answer?.headers.get("date") ?? "");
  if (Number.isNaN(theirs)) return { check: "clock", result: "warn", detail: "the server sends no Date header" };
  const skew = Math.abs(io.nowMs() - theirs);
  const seconds = `${(skew / 1000).toFixed(0)} s off the server's clock`;
  return skew > SKEW_MAX_MS
    ? { check: "clock", result: "fail", detail: `${seconds}: tokens may be rejected` }
    : { check: "clock", result: "ok", detail: seconds };
}

async function login({ client, settings }: Context): Promise<DoctorResult> {
  if (!settings.token) return { check: "login", result: "warn", detail: "not logged in: run gw auth login or gw auth signup" };
  try {
    const { body } = await client.send({ method: "GET", path: "/api/auth/me", auth: "user" });
    const until = settings.stored?.expiresAt ? `, token expires ${format(settings.stored.expiresAt, "time")}` : "";
    return {
      check: "login",
      result: "ok",
      detail: `${format(valueAt(body, "user.email"))} (${format(valueAt(body, "user.role"))})${until}`,
    };
  } catch (error) {
    return { check: "login", result: "fail", detail: `${problem(error)} Run gw auth login.` };
  }
}

/** Also checks which credential headers the server accepts, because the hosted listener takes x-gw-api-key only. */
async function key({ client, settings }: Context): Promise<DoctorResult> {
  const value = settings.apiKey?.value;
  if (!value) return { check: "API key", result: "warn", detail: "none: run gw keys create --name cli --save, or set GW_API_KEY" };
  try {
    const { body } = await client.send({ method: "GET", path: "/v1/models", auth: "key" });
    const count = (valueAt(body, "data") as unknown[]).length;
    const bearer = await client
      .send({ method: "GET", path: "/v1/models", auth: "none", headers: { authorization: `Bearer ${value}` } })
      .then(
        () => "x-gw-api-key or Bearer",
        () => "x-gw-api-key only",
      );
    return { check: "API key", result: "ok", detail: `sk-...${value.slice(-4)} can use ${count} model(s); header: ${bearer}` };
  } catch (error) {
    return { check: "API key", result: "fail", detail: problem(error) };
  }
}

async function credits({ client, settings }: Context): Promise<DoctorResult> {
  if (!settings.token) return { check: "credits", result: "warn", detail: "unknown without login" };
  try {
    const { body } = await client.send({ method: "GET", path: "/api/quota", auth: "user" });
    const available = valueAt(body, "quota.available");
    const detail = `${format(available, "usd")} available, ${format(valueAt(body, "quota.status"))}`;
    const usable = typeof available === "bigint" && available > 0n;
    return usable
      ? { check: "credits", result: "ok", detail }
      : { check: "credits", result: "warn", detail: `${detail}: run gw credits buy --usd 5` };
  } catch (error) {
    return { check: "credits", result: "fail", detail: problem(error) };
  }
}

async function trainer(context: Context): Promise<DoctorResult> {
  const { settings, clientOf } = context;
  const beside = new URL(settings.apiUrl.value);
  beside.port = "5000";
  const url = settings.get("trainer-url")?.value ?? beside.origin;
  try {
    await clientOf(url).send({ method: "GET", path: "/health", auth: "none" });
    return { check: "trainer", result: "ok", detail: url };
  } catch (error) {
    return { check: "trainer", result: "warn", detail: `${problem(error)} Needed only for training.` };
  }
}

const problem = (error: unknown): string => (error instanceof CliError ? error.facts.error : String(error));
