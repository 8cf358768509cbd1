import { readFileSync } from "node:fs";
import { fromJson } from "../../../common/json.ts";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import type { ApiAnswer } from "../../http/client.ts";
import { type Field, option, type RequestValues } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";
import { INITIAL_HELP, initialOf } from "./train-initial.ts";

/** Options of `gw train create`. Settings without an option can be set in the file. */
export const createFields: readonly Field[] = [
  option("--file <path>", "federation as JSON, - for stdin; options override the file", "file"),
  option("--name <name>", "federation name", "name"),
  option("--team <id>", "team ID", "teamId"),
  option("--participants <url,url>", "participant URLs", "participants", { kind: "list" }),
  option("--federations <id,id>", "federations that are participants: each trains by one of its own rounds", "federations", {
    kind: "list",
  }),
  option("--join <n>", "number of participants that connect with a join token", "join", { kind: "integer" }),
  option("--open", "open enrollment: each participant with the join link takes part", "open", { kind: "true" }),
  option("--min-participants <n>", "with --open: participants that a round needs to begin", "minParticipants", { kind: "integer" }),
  option("--max-participants <n>", "with --open: most participants at the same time", "maxParticipants", { kind: "integer" }),
  option("--task <name>", "task: linear, logistic, softmax, mlp, cnn, text_classifier, ...", "task.name"),
  option("--config <json>", "training config sent with every call: epochs, lr, batch_size, ...", "task.config", { kind: "json" }),
  option("--dataset <name or json>", "dataset sent to participants: a name such as digits, or JSON", "task.dataset"),
  option("--strategy <name>", "aggregation strategy (default: fedavg); `gw train strategies` lists them", "strategy.name"),
  option("--initial <source>", INITIAL_HELP, "initial"),
  option("--rounds <n>", "number of rounds", "rounds", { kind: "integer" }),
  option("--waits", "no rounds of its own: it waits to be a participant of another federation", "waits", { kind: "true" }),
  option("--fraction <number>", "fraction of participants selected per round", "fraction", { kind: "number" }),
  option(
    "--selection <json>",
    'participants of a round: {"properties": {"region": "eu"}, "min": 5, "max": 50, "function": "mine"}',
    "selection",
    {
      kind: "json",
    },
  ),
  option("--rewards <by>", "share of the budget by: cosine, samples (with --max-samples the default), leave_one_out, equal", "rewards.by"),
  option("--min-results <n>", "minimum number of updates per round", "minResults", { kind: "integer" }),
  option("--max-samples <n>", "most samples that a participant may declare", "maxSamples", { kind: "integer" }),
  option("--deadline <seconds>", "round deadline for updates", "deadlineMs", { kind: "number" }),
  option("--over-select <number>", "over-selection ratio: 0.3 selects 30 % more participants than needed", "overSelect", {
    kind: "number",
  }),
  option("--budget <usd>", "payment per round to its participants, in USD", "budgetNanoUsd", { kind: "usd" }),
  option("--target <number>", "stop early at this accuracy", "eval.target", { kind: "number" }),
  option("--patience <n>", "stop early after n rounds without improvement", "eval.patience", { kind: "integer" }),
  option("--secure", "secure aggregation: only the sum of updates is visible; needs at least 3 trainer nodes", "secureAggregation", {
    kind: "true",
  }),
  option("--dp <json>", "differential privacy: mode, clipNorm, noiseMultiplier, delta, epsilonBudget", "dp", { kind: "json" }),
];

const MS = 1000;

/** Builds the request body from options and file. */
export async function readFederation({ io }: Context, { body }: RequestValues): Promise<void> {
  const { file, join, open, participants, federations, deadlineMs, ...options } = body;
  const spec = typeof file === "string" ? readSpec(file === "-" ? await io.readStdin() : readText(file)) : {};
  const places = [
    ...((participants as string[] | undefined) ?? []).map((url) => ({ url })),
    ...((federations as string[] | undefined) ?? []).map((federation) => ({ federation })),
    ...Array.from({ length: Number(join ?? 0) }, () => ({ join: true })),
  ];
  for (const name of Object.keys(body)) delete body[name];
  Object.assign(body, merged(spec, options), {
    ...(typeof deadlineMs === "number" ? { deadlineMs: Math.round(deadlineMs * MS) } : {}),
    ...(open === true ? { enrollment: "open" } : {}),
    ...(places.length > 0 ? { participants: places } : {}),
  });
  const task = body["task"] as Record<string, unknown> | undefined;
  if (typeof task?.["dataset"] === "string") task["dataset"] = datasetOf(task["dataset"]);
  if (typeof body["initial"] === "string") body["initial"] = initialOf(body["initial"]);
  if (body["participants"] === undefined && body["enrollment"] !== "open")
    throw usageError(
      "There are no participants.",
      "Add participant URLs with --participants, federations with --federations, join tokens with --join, or a join link with --open.",
    );
}

/** Prints what participants join with, which is shown only once, and what the owner is warned of. */
export function printCreated({ print, settings }: Context, { body }: ApiAnswer): void {
  if (print.json) return;
  const warnings = valueAt(body, "warnings");
  if (Array.isArray(warnings)) for (const warning of warnings) print.note(`warning: ${String(warning)}`);
  const tokens = valueAt(body, "joinTokens");
  if (Array.isArray(tokens) && tokens.length > 0) print.text(`\n${tokens.map((token) => `join token  ${String(token)}\n`).join("")}`);
  const link = valueAt(body, "joinLink");
  if (typeof link !== "string") return;
  const command = `TRAINER_JOIN_URL=${settings.apiUrl.value} TRAINER_JOIN_TOKEN=${link} node trainer-node/main.ts`;
  print.text(`\njoin link   ${link}\njoin with   ${command}\n`);
}

/** Options override single fields of an object in the file; its other fields stay. */
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
  if (!isObject(value)) throw usageError("--file must contain one JSON object.");
  return value;
}

function readJson(text: string, flag: string): unknown {
  try {
    return fromJson(text);
  } catch {
    throw usageError(`${flag} is not valid JSON.`);
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
