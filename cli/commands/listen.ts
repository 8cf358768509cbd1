import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { ignore } from "../../common/ignore.ts";
import { WEBHOOK_EVENTS } from "../../common/webhook-events.ts";
import { signedHeaders } from "../../common/webhook-signature.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import type { Options } from "../operations/read-values.ts";
import { onAction } from "../operations/register.ts";
import { rowsOf } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";

const POLL_MS = 1000;
const FORWARD_MAX_MS = 10_000;
const PAGE_SIZE = "100";

export function registerListen(program: Command, io: Io): void {
  const command = program
    .command("listen")
    .description("Receive webhooks on this machine, which needs no public address: print each event, and forward it to a local server")
    .option("--forward-to <url>", "URL to which each event is posted, signed as a webhook: http://127.0.0.1:8080/hook")
    .option("--events <a,b>", `events to receive (default: all): ${WEBHOOK_EVENTS.join(", ")}`);
  onAction(command, io, listen);
}

/** A webhook of its own for the time of the command. Its address exists nowhere, so that the events are only read from its deliveries. */
async function listen(context: Context, _words: readonly string[], options: Options): Promise<void> {
  const target = targetOf(options["forwardTo"]);
  const events = typeof options["events"] === "string" ? options["events"].split(",") : WEBHOOK_EVENTS;
  const webhook = await openWebhook(context, events);
  context.print.note(`Signing secret: ${webhook.secret}`);
  context.print.note(`Waiting for events${target ? `, which are posted to ${target}` : ""}. Press Ctrl-C to stop.`);
  try {
    await follow(context, webhook, target);
  } finally {
    await closeWebhook(context, webhook.id);
  }
}

interface OwnWebhook {
  readonly id: string;
  readonly secret: string;
}

function targetOf(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const url = URL.canParse(String(given)) ? new URL(String(given)) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw usageError(`--forward-to ${String(given)} is not an address.`, "Use one such as http://127.0.0.1:8080/hook.");
  return url.href;
}

/** The same for every `gw listen` of this machine and profile, so that one that was killed is replaced by the next. */
function addressOf({ settings }: Context): string {
  const place = createHash("sha256").update(`${hostname()} ${settings.profile}`).digest("hex").slice(0, 16);
  return `https://gw-listen.invalid/${place}`;
}

async function openWebhook(context: Context, events: readonly string[]): Promise<OwnWebhook> {
  const { client } = context;
  const url = addressOf(context);
  const { body: listed } = await client.send({ method: "GET", path: "/api/gw/webhooks", query: { pageSize: PAGE_SIZE }, auth: "user" });
  for (const left of rowsOf(listed).filter((row) => valueAt(row, "url") === url)) await closeWebhook(context, String(valueAt(left, "id")));
  const { body } = await client.send({ method: "POST", path: "/api/gw/webhooks", auth: "user", body: { url, events } });
  return { id: String(valueAt(body, "webhook.id")), secret: String(valueAt(body, "secret")) };
}

/** A client of its own, because Ctrl-C has aborted the requests of the other one. */
async function closeWebhook({ settings, detached }: Context, id: string): Promise<void> {
  const client = detached(settings.apiUrl.value);
  const removed = client.send({ method: "DELETE", path: `/api/gw/webhooks/${encodeURIComponent(id)}`, auth: "user" });
  await ignore(removed, "the webhook is already gone, or the next gw listen removes it");
}

async function follow(context: Context, webhook: OwnWebhook, target: string | undefined): Promise<void> {
  const { io } = context;
  const seen = new Set<string>();
  const ask = deliveriesOf(context, webhook);
  while (!io.signal.aborted) {
    for (const delivery of (await ask()).toReversed()) {
      const id = String(valueAt(delivery, "id"));
      if (seen.has(id)) continue;
      seen.add(id);
      await receive(context, { id, body: String(valueAt(delivery, "body")), secret: webhook.secret }, target);
    }
    await ignore(sleep(POLL_MS, undefined, { signal: io.signal }), "the signal ends the wait");
  }
}

/** Asks for the newest deliveries. A server that fails or cannot be reached is asked again, because it stores the events meanwhile. */
function deliveriesOf({ client, print }: Context, webhook: OwnWebhook): () => Promise<readonly unknown[]> {
  const path = `/api/gw/webhooks/${webhook.id}/deliveries`;
  let isFailing = false;
  return async () => {
    try {
      const { body } = await client.send({ method: "GET", path, query: { pageSize: PAGE_SIZE }, auth: "user" });
      isFailing = false;
      return rowsOf(body);
    } catch (error) {
      if (!(error instanceof CliError) || error.exit !== EXIT.server) throw replaced(error);
      if (!isFailing) print.note(`${error.message} Trying again.`);
      isFailing = true;
      return [];
    }
  };
}

function replaced(error: unknown): unknown {
  if (!(error instanceof CliError) || error.exit !== EXIT.notFound) return error;
  return new CliError(EXIT.failure, { error: "Another gw listen of this machine took over.", code: "REPLACED" });
}

async function receive(
  { print, io }: Context,
  message: { id: string; body: string; secret: string },
  target: string | undefined,
): Promise<void> {
  const event: unknown = JSON.parse(message.body);
  const outcome = target === undefined ? undefined : await forward(io, message, target);
  print.item({ id: message.id, event, ...(outcome === undefined ? {} : { forwarded: outcome }) }, () =>
    [String(valueAt(event, "type")), message.id, outcome === undefined ? "" : `→ ${outcome}`].join("  ").trimEnd(),
  );
}

/** The status of the local server's answer, or why there is none. The event is not sent again. */
async function forward(io: Io, message: { id: string; body: string; secret: string }, target: string): Promise<string> {
  const headers = { "content-type": "application/json", "user-agent": "gw-listen", ...signedHeaders({ ...message, now: io.nowMs() }) };
  try {
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(FORWARD_MAX_MS)]);
    const answer = await fetch(target, { method: "POST", headers, body: message.body, redirect: "manual", signal });
    await answer.body?.cancel();
    return `HTTP ${answer.status}`;
  } catch (cause) {
    const { code } = (cause as { cause?: { code?: string } }).cause ?? {};
    return `not reached (${code ?? (cause as Error).name})`;
  }
}
