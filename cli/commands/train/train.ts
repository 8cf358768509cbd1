import type { Command } from "commander";
import { CliError } from "../../cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import type { Io } from "../../io.ts";
import { onAction, pagedFields, registerGroup, registerOperation } from "../../operations/register.ts";
import { runOperation } from "../../operations/run-operation.ts";
import { argument, filter, type OperationSpec, option, required } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";
import { registerBlobs } from "./blobs.ts";
import { dataSets } from "./data-sets.ts";
import { followRounds } from "./follow-rounds.ts";
import { nodes } from "./nodes.ts";
import { strategies } from "./strategies.ts";
import { registerCompare } from "./train-compare.ts";
import { createFields, printCreated, readFederation } from "./train-create.ts";
import { exportMetrics, metrics } from "./train-metrics.ts";
import { downloadParameters, parameters } from "./train-parameters.ts";
import { replay } from "./train-replay.ts";
import { publishedView, publishFields, trainedModels, versionColumns } from "./trained-models.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "state", at: "state", as: "state" },
  { title: "phase", at: "phase" },
  { title: "round", at: "round", as: "count" },
  { title: "rounds", at: "rounds", as: "count" },
  { title: "accuracy", at: "head.accuracy", as: "percent" },
];

const view: View = {
  kind: "record",
  at: "federation",
  fields: [
    ...columns,
    { title: "waiting for", at: "waitingFor" },
    { title: "waiting until", at: "waitingUntil", as: "time" },
    { title: "failure", at: "failure.message" },
    { title: "strategy", at: "settings.strategy.name" },
    { title: "participants", at: "participants.length", as: "count" },
    { title: "round budget", at: "budgetNanoUsd", as: "usd" },
    { title: "epsilon", at: "epsilon" },
    { title: "record", at: "head.recordHash" },
    { title: "created", at: "createdAt", as: "time" },
  ],
  id: "federation.id",
};

const federation = argument("id", "federation ID");
const root = "/training/federations";

const change = (name: "pause" | "resume" | "stop", summary: string, confirm?: string): OperationSpec => ({
  name,
  summary,
  method: "POST",
  path: `${root}/:id/${name}`,
  auth: "either",
  fields: [federation],
  view,
  ...(confirm ? { confirm } : {}),
});

const listRounds: OperationSpec = {
  name: "rounds",
  summary: "List the rounds of a federation; --follow shows live progress",
  method: "GET",
  path: `${root}/:id/rounds`,
  auth: "either",
  fields: [federation],
  view: {
    kind: "list",
    columns: [
      { title: "round", at: "round", as: "count" },
      { title: "state", at: "state", as: "state" },
      { title: "participants", at: "participants.length", as: "count" },
      { title: "accuracy", at: "accuracy", as: "percent" },
      { title: "loss", at: "loss", as: "decimal" },
      { title: "epsilon", at: "epsilon", as: "decimal" },
      { title: "paid", at: "budget", as: "usd" },
      { title: "committed", at: "committedAt", as: "time" },
      { title: "record", at: "recordHash" },
    ],
    id: "round",
    empty: "No rounds yet.",
  },
};

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List federations of your teams, newest first",
    method: "GET",
    path: root,
    auth: "either",
    fields: [
      filter("--state <state>", "filter by state", "state", {
        choices: ["created", "waiting", "running", "paused", "completed", "failed", "stopped"],
      }),
      filter("--team <id>", "filter by team", "team_id"),
    ],
    view: { kind: "list", columns, id: "id", empty: "No federations. See `gw train create --help`." },
  },
  {
    name: "create",
    summary: "Create a federation and start its rounds",
    method: "POST",
    path: root,
    auth: "either",
    fields: createFields,
    before: readFederation,
    view,
    after: printCreated,
  },
  { name: "get", summary: "Show a federation", method: "GET", path: `${root}/:id`, auth: "either", fields: [federation], view },
  change("pause", "Pause a federation. The open round keeps the updates it has received"),
  change("resume", "Resume a paused federation"),
  change("stop", "Stop a federation permanently", "Permanently stop federation {args}?"),
  {
    name: "extend",
    summary: "Add rounds to a federation; a completed or failed one continues",
    method: "POST",
    path: `${root}/:id/extend`,
    auth: "either",
    fields: [
      federation,
      option("--rounds <n>", "number of additional rounds", "rounds", { kind: "integer", ...required, question: "Rounds" }),
    ],
    view,
  },
  {
    name: "verify",
    summary: "Verify a federation: its hash chain of round records and every aggregation",
    method: "GET",
    path: `${root}/:id/verify`,
    auth: "either",
    fields: [federation],
    view: {
      kind: "record",
      fields: [
        { title: "valid", at: "ok", as: "yesno" },
        { title: "rounds", at: "rounds", as: "count" },
        { title: "recomputed", at: "remade", as: "count" },
        { title: "first invalid round", at: "firstBad.round" },
        { title: "reason", at: "firstBad.reason" },
      ],
      id: "rounds",
    },
    after: (_context, { body }) => {
      if (valueAt(body, "ok") === true) return;
      throw new CliError(EXIT.failure, {
        error: `The history is not valid: ${String(valueAt(body, "firstBad.reason"))}`,
        code: "HISTORY_WRONG",
      });
    },
  },
  replay,
  {
    name: "publish",
    summary: "Publish trained parameters as a model",
    method: "POST",
    path: `${root}/:id/publish`,
    auth: "either",
    fields: [
      federation,
      ...publishFields,
      option("--round <n>", "round to publish (default: the last)", "round", { kind: "integer" }),
      option("--labels <a,b>", "class names, in order", "labels", { kind: "list" }),
      option("--flagged <a,b>", "classes flagged by moderation", "flagged", { kind: "list" }),
      option("--columns <a,b>", "input column names, in order", "columns", { kind: "list" }),
      option("--served-by <ids>", "participants whose own serve function answers (p1,p2)", "servedBy", { kind: "list" }),
    ],
    view: publishedView,
  },
  {
    name: "versions",
    summary: "List published versions of a model",
    method: "GET",
    path: `${root}/:id/versions`,
    auth: "either",
    fields: [federation, filter("--model <name>", "model name", "model", { ...required, question: "Model name" })],
    view: {
      kind: "list",
      columns: versionColumns,
      id: "version",
      empty: "No published versions.",
    },
  },
  {
    name: "rollback",
    summary: "Roll back a model to an earlier version",
    method: "POST",
    path: `${root}/:id/rollback`,
    auth: "either",
    fields: [
      federation,
      option("--model <name>", "model name", "model", { ...required, question: "Model name" }),
      option("--to-version <n>", "version number (default: the previous version)", "version", { kind: "integer" }),
    ],
    confirm: "Roll back this model?",
    view: {
      kind: "sentence",
      text: (body) => `Rolled back ${String(valueAt(body, "model.name|model") ?? "the model")}.`,
      id: "model.name",
    },
  },
];

export function registerTrain(program: Command, io: Io): void {
  const train = registerGroup(program, io, {
    name: "train",
    summary: "Federated training: federations, rounds, models, nodes",
    operations,
    default: "list",
  });
  train.commands.find((command) => command.name() === "list")?.alias("federations");
  const rounds = registerOperation(train, io, listRounds);
  rounds.option("-f, --follow", "live progress and accuracy; NDJSON events when piped");
  onAction(rounds, io, (context, words, options) =>
    options["follow"]
      ? followRounds(context, words[0] ?? "")
      : runOperation(context, { ...listRounds, fields: pagedFields(listRounds) }, { words, options }),
  );
  const download = registerOperation(train, io, parameters).alias("parameters");
  download.option("--round <n>", "round to download (default: the last committed round)").option("--out <file>", "output file");
  onAction(download, io, (context, words, options) => downloadParameters(context, words[0] ?? "", options));
  const exporting = registerOperation(train, io, metrics).option("--out <file>", "output file");
  onAction(exporting, io, (context, words, options) => exportMetrics(context, words[0] ?? "", options));
  registerCompare(train, io);
  registerGroup(train, io, trainedModels);
  registerBlobs(train, io);
  registerGroup(train, io, strategies);
  registerGroup(train, io, nodes);
  registerGroup(train, io, dataSets);
}
