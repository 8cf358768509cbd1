import { readFileSync } from "node:fs";
import { fromJson } from "../../../common/json.ts";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { type Field, given, type Values } from "../../operations/spec.ts";

/** Options of `gw train create`. Whatever has no option of its own can be in the file. */
export const createFields: readonly Field[] = [
  given("--file <path>", "the federation as JSON, - for standard input; options go before what it says", "file"),
  given("--name <name>", "what it is called", "name"),
  given("--team <id>", "whose it is", "teamId"),
  given("--participants <url,url>", "addresses of the participants", "participants", { kind: "list" }),
  given("--join <n>", "so many more places, for participants that call us with a token", "join", { kind: "integer" }),
  given("--task <name>", "linear, logistic, softmax, mlp, cnn, text_classifier, ...", "task.name"),
  given("--config <json>", "sent with every call: epochs, lr, batch_size, ...", "task.config", { kind: "json" }),
  given("--dataset <name or json>", "sent to participants; digits, or JSON", "task.dataset"),
  given("--strategy <name>", "fedavg, fedadam, krum, trimmed_mean, ...", "strategy.name"),
  given("--rounds <n>", "how many", "rounds", { kind: "integer" }),
  given("--fraction <number>", "share of the participants in each round", "fraction", { kind: "number" }),
  given("--min-results <n>", "updates that a round needs", "minResults", { kind: "integer" }),
  given("--deadline <seconds>", "how long a round waits for updates", "deadlineMs", { kind: "number" }),
  given("--over-select <number>", "ask so much more than are waited for: 0.3 is 30 %", "overSelect", { kind: "number" }),
  given("--budget <usd>", "what each round pays its participants", "budgetNanoUsd", { kind: "usd" }),
  given("--target <number>", "end early at this accuracy", "eval.target", { kind: "number" }),
  given("--patience <n>", "end after so many rounds without a better one", "eval.patience", { kind: "integer" }),
  given("--secure", "nobody sees a single update, only their sum; three trainer nodes or more", "secureAggregation", { kind: "true" }),
  given("--dp <json>", "differential privacy: mode, clipNorm, noiseMultiplier, delta, epsilonBudget", "dp", { kind: "json" }),
];

const MS = 1000;

/** Makes the request's body of options and file. */
export async function readFederation({ io }: Context, { body }: Values): Promise<void> {
  const { file, join, participants, deadlineMs, ...options } = body;
  const spec = typeof file === "string" ? readSpec(file === "-" ? await io.readStdin() : readText(file)) : {};
  const places = [
    ...((participants as string[] | undefined) ?? []).map((url) => ({ url })),
    ...Array.from({ length: Number(join ?? 0) }, () => ({ join: true })),
  ];
  for (const name of Object.keys(body)) delete body[name];
  Object.assign(body, merged(spec, options), {
    ...(typeof deadlineMs === "number" ? { deadlineMs: Math.round(deadlineMs * MS) } : {}),
    ...(places.length > 0 ? { participants: places } : {}),
  });
  const task = body["task"] as Record<string, unknown> | undefined;
  if (typeof task?.["dataset"] === "string") task["dataset"] = datasetOf(task["dataset"]);
  if (body["participants"] === undefined)
    throw usageError("Nobody takes part.", "--participants names addresses, --join places for those who call us.");
}

/** Objects of the file keep what no option names. */
function merged(spec: Record<string, unknown>, options: Record<string, unknown>): Record<string, unknown> {
  const both = Object.entries(options).map(([name, value]) => {
    const before = spec[name];
    return [name, isObject(before) && isObject(value) ? { ...before, ...value } : value] as const;
  });
  return { ...spec, ...Object.fromEntries(both) };
}

function datasetOf(text: string): unknown {
  return /^[[{"]/.test(text) ? readJson(text, "--dataset") : text;
}

function readSpec(text: string): Record<string, unknown> {
  const value = readJson(text, "--file");
  if (!isObject(value)) throw usageError("--file must hold one JSON object.");
  return value;
}

function readJson(text: string, flag: string): unknown {
  try {
    return fromJson(text);
  } catch {
    throw usageError(`${flag} holds no JSON.`);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw usageError(`${path} cannot be read (${(cause as { code?: string }).code ?? "unknown"}).`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
