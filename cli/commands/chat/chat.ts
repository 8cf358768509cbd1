import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import { type Context, noKey } from "../../context.ts";
import type { Io } from "../../io.ts";
import type { Options } from "../../operations/read-values.ts";
import { onAction, operationOf } from "../../operations/register.ts";
import { rowsOf } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";
import { converse } from "./chat-loop.ts";
import { askModel, type Message, type Turn } from "./chat-turn.ts";

export function registerChat(program: Command, io: Io): void {
  const command = program
    .command("chat [text...]")
    .description("Chat with a model: one answer for a text, or a conversation on a terminal")
    .option("-m, --model <name>", "model name (default: the profile's model, or the first chat model)")
    .option("-s, --system <text>", "system prompt")
    .option("-f, --file <path>", "read the text from a file; - for stdin")
    .option("--no-stream", "print the whole answer at once")
    .option("--max-tokens <n>", "max_tokens of the answer")
    .option("--temperature <number>", "sampling temperature")
    .option("--platform", "call /api/gw/messages with the login token, billed to the API key");
  operationOf.set(command, "POST /v1/chat/completions");
  onAction(command, io, chat);
}

async function chat(context: Context, words: readonly string[], options: Options): Promise<void> {
  // Before a text is typed that could not be sent.
  if (!context.settings.apiKey) throw noKey();
  const text = await firstText(context, words, options["file"]);
  const turn: Turn = {
    model: await chooseModel(context, options["model"]),
    messages: typeof options["system"] === "string" ? [{ role: "system", content: options["system"] }] : [],
    stream: options["stream"] !== false,
    platform: options["platform"] === true,
    settings: {
      ...(options["maxTokens"] === undefined ? {} : { max_tokens: wholeNumber(options["maxTokens"], "--max-tokens") }),
      ...(options["temperature"] === undefined ? {} : { temperature: decimal(options["temperature"], "--temperature") }),
    },
  };
  if (text === undefined) return converse(context, turn);
  const messages: Message[] = [...turn.messages, { role: "user", content: text }];
  await askModel(context, { ...turn, messages });
}

async function firstText({ io }: Context, words: readonly string[], file: unknown): Promise<string | undefined> {
  if (typeof file === "string" && words.length > 0) throw usageError("Use either a text or --file, not both.");
  if (file === "-" || (words.length === 0 && file === undefined && !io.stdinIsTerminal)) return (await io.readStdin()).trim() || noText();
  if (typeof file === "string") return readText(file);
  return words.length > 0 ? words.join(" ") : undefined;
}

function noText(): never {
  throw usageError("The text is missing.", 'Run gw chat "hello", or pass a text on stdin.');
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw usageError(`${path} cannot be read (${(cause as { code?: string }).code ?? "unknown"}).`);
  }
}

async function chooseModel({ settings, client }: Context, wanted: unknown): Promise<string> {
  if (typeof wanted === "string") return wanted;
  const own = settings.get("model");
  if (own) return own.value;
  const { body } = await client.send({ method: "GET", path: "/api/models", query: { type: "chat", pageSize: "1" }, auth: "none" });
  const name = valueAt(rowsOf(body)[0], "name");
  if (typeof name !== "string") throw usageError("The server has no chat model.", "Choose a model with --model.");
  return name;
}

function wholeNumber(text: unknown, flag: string): number {
  if (!/^\d{1,9}$/.test(String(text))) throw usageError(`${flag}: ${String(text)} is not a whole number.`);
  return Number(text);
}

function decimal(text: unknown, flag: string): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw usageError(`${flag}: ${String(text)} is not a number.`);
  return value;
}
