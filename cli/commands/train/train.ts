import type { Command } from "commander";
import { CliError } from "../../cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import type { Io } from "../../io.ts";
import { onAction, pagedFields, registerGroup, registerOperation } from "../../operations/register.ts";
import { runOperation } from "../../operations/run-operation.ts";
import { filter, type Group, given, type OperationSpec, required, word } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";
import { dataSets } from "./data-sets.ts";
import { followRounds } from "./follow-rounds.ts";
import { createFields, readFederation } from "./train-create.ts";
import { downloadParameters, parameters } from "./train-parameters.ts";
import { replay } from "./train-replay.ts";
import { publishedView, publishFields, trainedModels, versionColumns } from "./trained-models.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "state", at: "state", as: "state" },
  { title: "phase", at: "phase" },
  { title: "round", at: "round", as: "count" },
  { title: "of", at: "rounds", as: "count" },
  { title: "accuracy", at: "head.accuracy", as: "percent" },
];

const view: View = {
  kind: "record",
  at: "federation",
  fields: [
    ...columns,
    { title: "waits for", at: "waitingFor" },
    { title: "waits until", at: "waitingUntil", as: "time" },
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

const federation = word("id", "which federation");
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
  summary: "Rounds of a federation; --follow shows them as they happen",
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
    summary: "Federations of your teams, newest first",
    method: "GET",
    path: root,
    auth: "either",
    fields: [
      filter("--state <state>", "only these", "state", {
        choices: ["created", "waiting", "running", "paused", "completed", "failed", "stopped"],
      }),
      filter("--team <id>", "of this team", "team_id"),
    ],
    view: { kind: "list", columns, id: "id", empty: "No federations. `gw train create --help` says how to begin one." },
  },
  {
    name: "create",
    summary: "Begin a federation; its rounds run by themselves",
    method: "POST",
    path: root,
    auth: "either",
    fields: createFields,
    before: readFederation,
    view,
    after: ({ print }, { body }) => {
      const tokens = valueAt(body, "joinTokens");
      if (!print.json && Array.isArray(tokens) && tokens.length > 0)
        print.text(`\n${tokens.map((token) => `join token  ${String(token)}\n`).join("")}`);
    },
  },
  { name: "get", summary: "One federation", method: "GET", path: `${root}/:id`, auth: "either", fields: [federation], view },
  change("pause", "Pause; the open round keeps the updates it has"),
  change("resume", "Go on where it was paused"),
  change("stop", "Stop for good", "Stop the federation {word} for good?"),
  {
    name: "verify",
    summary: "Check a federation's history: the chain of records and every aggregation again",
    method: "GET",
    path: `${root}/:id/verify`,
    auth: "either",
    fields: [federation],
    view: {
      kind: "record",
      fields: [
        { title: "right", at: "ok", as: "yesno" },
        { title: "rounds", at: "rounds", as: "count" },
        { title: "made again", at: "remade", as: "count" },
        { title: "first bad round", at: "firstBad.round" },
        { title: "why", at: "firstBad.reason" },
      ],
      id: "rounds",
    },
    after: (_context, { body }) => {
      if (valueAt(body, "ok") === true) return;
      throw new CliError(EXIT.failure, {
        error: `The history is wrong: ${String(valueAt(body, "firstBad.reason"))}`,
        code: "HISTORY_WRONG",
      });
    },
  },
  replay,
  {
    name: "publish",
    summary: "Make a trained version a model of the gateway",
    method: "POST",
    path: `${root}/:id/publish`,
    auth: "either",
    fields: [
      federation,
      ...publishFields,
      given("--round <n>", "of this round; the last where absent", "round", { kind: "integer" }),
      given("--labels <a,b>", "names of the classes, in their order", "labels", { kind: "list" }),
      given("--flagged <a,b>", "classes that moderation flags", "flagged", { kind: "list" }),
      given("--columns <a,b>", "names of a row's fields, in their order", "columns", { kind: "list" }),
    ],
    view: publishedView,
  },
  {
    name: "versions",
    summary: "Published versions of a model",
    method: "GET",
    path: `${root}/:id/versions`,
    auth: "either",
    fields: [federation, filter("--model <name>", "which model", "model", { ...required, question: "Name of the model" })],
    view: {
      kind: "list",
      columns: versionColumns,
      id: "version",
      empty: "Nothing published yet.",
    },
  },
  {
    name: "rollback",
    summary: "Let an earlier version serve every call",
    method: "POST",
    path: `${root}/:id/rollback`,
    auth: "either",
    fields: [
      federation,
      given("--model <name>", "which model", "model", { ...required, question: "Name of the model" }),
      given("--to-version <n>", "which version; the one before where absent", "version", { kind: "integer" }),
    ],
    confirm: "Let an earlier version serve every call of this model?",
    view: {
      kind: "sentence",
      text: (body) => `Rolled back ${String(valueAt(body, "model.name|model") ?? "the model")}.`,
      id: "model.name",
    },
  },
];

const nodeColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "url", at: "url" },
  { title: "status", at: "status", as: "state" },
  { title: "updates", at: "updates", as: "count" },
  { title: "failures", at: "failures", as: "count" },
  { title: "last seen", at: "lastSeenAt", as: "time" },
];
const nodeView: View = { kind: "record", at: "node", fields: [...nodeColumns, { title: "last error", at: "lastError" }], id: "node.id" };
const node = word("id", "which node");

const nodes: Group = {
  name: "nodes",
  summary: "Trainer nodes",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "Trainer nodes of your teams",
      method: "GET",
      path: "/training/nodes",
      auth: "either",
      view: { kind: "list", columns: nodeColumns, id: "id", empty: "No nodes. `gw train nodes add --url http://...` makes one known." },
    },
    {
      name: "add",
      summary: "Make a trainer node known to a team",
      method: "POST",
      path: "/training/nodes",
      auth: "either",
      fields: [
        given("--url <url>", "where it is", "url", { ...required, question: "Address" }),
        given("--name <name>", "what it is called", "name"),
        given("--team <id>", "whose it is", "teamId"),
        given("--token-stdin", "read the node's token from standard input", "token", { kind: "secret", question: "Token of the node" }),
      ],
      view: nodeView,
    },
    { name: "get", summary: "One node", method: "GET", path: "/training/nodes/:id", auth: "either", fields: [node], view: nodeView },
    {
      name: "health",
      summary: "Whether a node answers now",
      method: "GET",
      path: "/training/nodes/:id/health",
      auth: "either",
      fields: [node],
      view: {
        kind: "record",
        fields: [
          { title: "node", at: "node.name" },
          { title: "reachable", at: "reachable", as: "yesno" },
          { title: "latency", at: "latencyMs", as: "ms" },
          { title: "error", at: "error" },
        ],
        id: "node.id",
      },
    },
    {
      name: "remove",
      summary: "Forget a node; federations that have it go on with it",
      method: "DELETE",
      path: "/training/nodes/:id",
      auth: "either",
      fields: [node],
      confirm: "Forget the node {word}?",
      view: { kind: "sentence", text: (body) => `Forgot ${String(valueAt(body, "id"))}.`, id: "id" },
    },
  ],
};

export function registerTrain(program: Command, io: Io): void {
  const train = registerGroup(program, io, {
    name: "train",
    summary: "Train together: federations, rounds, nodes",
    operations,
    alone: "list",
  });
  train.commands.find((command) => command.name() === "list")?.alias("federations");
  const rounds = registerOperation(train, io, listRounds);
  rounds.option("-f, --follow", "progress bars and the accuracy curve as rounds happen; events as NDJSON when piped");
  onAction(rounds, io, (context, words, options) =>
    options["follow"]
      ? followRounds(context, words[0] ?? "")
      : runOperation(context, { ...listRounds, fields: pagedFields(listRounds) }, { words, options }),
  );
  const download = registerOperation(train, io, parameters);
  download.option("--round <n>", "of this round; the last committed one where absent").option("--out <file>", "the file to write");
  onAction(download, io, (context, words, options) => downloadParameters(context, words[0] ?? "", options));
  registerGroup(train, io, trainedModels);
  registerGroup(train, io, nodes);
  registerGroup(train, io, dataSets);
}
