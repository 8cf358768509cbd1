import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import type { Options } from "../../operations/read-values.ts";
import { onAction } from "../../operations/register.ts";
import { rowsOf } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";
import { converse } from "./chat-loop.ts";
import { askModel, type Message, type Turn } from "./chat-turn.ts";

export function registerChat(program: Command, io: Io): void {
  const command = program
    .command("chat [text...]")
    .description("Talk to a model: one answer to a text, or a conversation on a terminal")
    .option("-m, --model <name>", "which model; without it the profile's, or the first chat model")
    .option("-s, --system <text>", "what the model is told first")
    .option("-f, --file <path>", "the text from a file, - for standard input")
    .option("--no-stream", "the whole answer at once")
    .option("--max-tokens <n>", "at most so many tokens in an answer")
    .option("--temperature <number>", "how free the answer is")
    .option("--platform", "through /api/gw/messages: logged in, paid by the API key");
  onAction(command, io, chat);
}

async function chat(context: Context, words: readonly string[], options: Options): Promise<void> {
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
  if (typeof file === "string" && words.length > 0) throw usageError("A text and --file exclude each other.");
  if (file === "-" || (words.length === 0 && file === undefined && !io.stdinIsTerminal)) return (await io.readStdin()).trim() || noText();
  if (typeof file === "string") return readText(file);
  return words.length > 0 ? words.join(" ") : undefined;
}

function noText(): never {
  throw usageError("There is no text to send.", 'gw chat "hello", or a text on standard input.');
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
  if (typeof name !== "string") throw usageError("There is no chat model here.", "--model names one.");
  return name;
}

function wholeNumber(text: unknown, flag: string): number {
  if (!/^\d{1,9}$/.test(String(text))) throw usageError(`${flag}: ${String(text)} is no whole number.`);
  return Number(text);
}

function decimal(text: unknown, flag: string): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw usageError(`${flag}: ${String(text)} is no number.`);
  return value;
}
