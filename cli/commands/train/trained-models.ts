import { argument, type Field, type Group, option, required } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import type { Column } from "../../output/values.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "type", at: "type" },
  { title: "versions", at: "latestVersion", as: "count" },
  { title: "traffic", at: "traffic" },
  { title: "visible to", at: "visibility" },
];

export const versionColumns: readonly Column[] = [
  { title: "version", at: "version", as: "count" },
  { title: "traffic %", at: "percent" },
  { title: "round", at: "lineage.round" },
  { title: "accuracy", at: "lineage.accuracy", as: "percent" },
  { title: "created", at: "createdAt", as: "time" },
  { title: "record", at: "lineage.recordHash" },
];

/** Options of every publish command, whether the parameters come from a federation or not. */
export const publishFields: readonly Field[] = [
  option("--model <name>", "model name", "model", { ...required, question: "Model name" }),
  option("--type <type>", "model type", "type", { choices: ["chat", "completion", "embedding", "moderation"] }),
  option("--price-unit <unit>", "billing unit", "pricing.unit", { choices: ["token", "call"] }),
  option("--input-price <usd>", "USD per million input units", "pricing.input", { kind: "usd" }),
  option("--output-price <usd>", "USD per million output units", "pricing.output", { kind: "usd" }),
  option("--percent <n>", "canary traffic, in percent of calls", "percent", { kind: "integer" }),
  option("--description <text>", "description shown in the model hub", "description"),
];

export const publishedView: View = {
  kind: "record",
  fields: [
    { title: "model", at: "model.name" },
    { title: "id", at: "model.id" },
    { title: "version", at: "version.version" },
    { title: "type", at: "model.type" },
    { title: "traffic %", at: "version.percent" },
  ],
  id: "model.name",
};

const modelView: View = { kind: "record", at: "model", fields: columns, id: "model.name" };
const model = argument("model", "model name or ID");
const root = "/training/models";

export const trainedModels: Group = {
  name: "models",
  summary: "Manage trained models, their versions and traffic",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List trained models of the active organization",
      method: "GET",
      path: root,
      auth: "either",
      view: { kind: "list", columns, id: "name", empty: "No published models. Publish one with `gw train publish`." },
    },
    {
      name: "publish",
      summary: "Publish parameters by their hash as the next version of a model",
      method: "POST",
      path: root,
      auth: "either",
      fields: [
        ...publishFields,
        option("--blob <sha256>", "SHA-256 of the parameters, as uploaded to a trainer node", "blob", {
          ...required,
          question: "SHA-256",
        }),
        option("--task <name>", "task: softmax, mlp, text_embedding, byte_lm, ...", "task.task", { ...required, question: "Task" }),
        option("--labels <a,b>", "class names, in order", "task.labels", { kind: "list" }),
        option("--flagged <a,b>", "classes flagged by moderation", "task.flagged", { kind: "list" }),
        option("--columns <a,b>", "input column names, in order", "task.columns", { kind: "list" }),
      ],
      view: publishedView,
    },
    {
      name: "versions",
      summary: "List versions of a trained model, newest first",
      method: "GET",
      path: `${root}/:model/versions`,
      auth: "either",
      fields: [model],
      view: { kind: "list", columns: versionColumns, id: "version" },
    },
    {
      name: "rollback",
      summary: "Route all traffic to one version: the given one, or the previous one",
      method: "POST",
      path: `${root}/:model/rollback`,
      auth: "either",
      fields: [model, option("--to-version <n>", "version number", "version", { kind: "integer" })],
      confirm: "Roll back {args}?",
      view: modelView,
    },
    {
      name: "split",
      summary: "Route a percentage of traffic to a version",
      method: "POST",
      path: `${root}/:model/split`,
      auth: "either",
      fields: [
        model,
        option("--to-version <n>", "version number", "version", { kind: "integer", ...required }),
        option("--percent <n>", "percentage of calls, 0 to 100", "percent", { kind: "integer", ...required }),
      ],
      view: modelView,
    },
  ],
};
