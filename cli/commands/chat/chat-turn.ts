import { fromJson } from "../../../common/json.ts";
import { CliError, interrupted } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { EXIT } from "../../exit-codes.ts";
import type { ApiRequest } from "../../http/client.ts";
import { readSse } from "../../http/sse.ts";
import { documentJson } from "../../output/json.ts";
import { terminalText } from "../../output/terminal-text.ts";
import { format, valueAt } from "../../output/values.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface Turn {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly stream: boolean;
  readonly platform: boolean;
  /** Additional request parameters. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Sends the messages, prints the answer as it arrives and returns it. */
export async function askModel(context: Context, turn: Turn): Promise<string> {
  // JSON output is one document, so it is not streamed.
  return turn.stream && !context.flags.json ? streamed(context, turn) : whole(context, turn);
}

async function whole(context: Context, turn: Turn): Promise<string> {
  const { body, headers } = await context.client.send({ ...requestOf(context, turn, false), untimed: true });
  const text = String(valueAt(firstChoice(body), "message.content") ?? "");
  if (context.flags.json) context.print.text(documentJson(body));
  else context.print.text(`${shown(context, text)}\n`);
  costNote(context, { usage: valueAt(body, "usage"), cost: headers.get("x-gw-cost-nano") });
  return text;
}

async function streamed(context: Context, turn: Turn): Promise<string> {
  const response = await context.client.open({ ...requestOf(context, turn, true), untimed: true });
  let text = "";
  let usage: unknown;
  try {
    for await (const { data } of readSse(response.body ?? new ReadableStream())) {
      if (data === "[DONE]") break;
      const chunk = fromJson(data);
      throwIfError(chunk);
      const piece = valueAt(firstChoice(chunk), "delta.content");
      if (typeof piece === "string") {
        text += piece;
        context.print.text(shown(context, piece));
      }
      usage = valueAt(chunk, "usage") ?? usage;
    }
  } catch (cause) {
    context.print.text("\n");
    throw context.io.signal.aborted ? interrupted() : cause;
  }
  context.print.text("\n");
  costNote(context, { usage, cost: valueAt(usage, "cost_nano") });
  return text;
}

/** A pipe gets the answer as it is; a terminal gets no control characters of a model. */
const shown = ({ io }: Context, text: string): string => (io.stdout.isTerminal ? terminalText(text) : text);

function requestOf({ settings }: Context, turn: Turn, stream: boolean): ApiRequest {
  const body = {
    model: turn.model,
    messages: turn.messages,
    ...turn.settings,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  if (!turn.platform) return { method: "POST", path: "/v1/chat/completions", auth: "key", body };
  return { method: "POST", path: "/api/gw/messages", auth: "user", body: { ...body, apiKey: settings.apiKey?.value } };
}

/** After the first byte, an error arrives as an event of the stream. */
function throwIfError(chunk: unknown): void {
  const error = valueAt(chunk, "error");
  if (error === undefined) return;
  throw new CliError(EXIT.server, {
    error: String(valueAt(error, "message") ?? "The stream was interrupted."),
    code: String(valueAt(error, "code") ?? valueAt(error, "type") ?? "STREAM_ERROR"),
    retryable: true,
  });
}

function costNote({ print, io }: Context, { usage, cost }: { usage: unknown; cost: unknown }): void {
  if (!io.stderr.isTerminal || usage === undefined) return;
  const nano = typeof cost === "string" && /^\d+$/.test(cost) ? BigInt(cost) : cost;
  const price = nano === null || nano === undefined ? "" : `, ${format(nano, "usd")}`;
  print.note(`${format(valueAt(usage, "prompt_tokens"))} tokens in, ${format(valueAt(usage, "completion_tokens"))} out${price}`);
}

const firstChoice = (body: unknown): unknown => (valueAt(body, "choices") as unknown[] | undefined)?.[0];
