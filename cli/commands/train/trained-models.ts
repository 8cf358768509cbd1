import { type Field, type Group, given, required, word } from "../../operations/spec.ts";
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
  { title: "share of calls", at: "percent" },
  { title: "round", at: "lineage.round" },
  { title: "accuracy", at: "lineage.accuracy", as: "percent" },
  { title: "created", at: "createdAt", as: "time" },
  { title: "record", at: "lineage.recordHash" },
];

/** What a publication may say, whether its parameters come from a federation or from elsewhere. */
export const publishFields: readonly Field[] = [
  given("--model <name>", "the name to call it by", "model", { ...required, question: "Name of the model" }),
  given("--type <type>", "what it is for", "type", { choices: ["chat", "completion", "embedding", "moderation"] }),
  given("--price-unit <unit>", "what is counted", "pricing.unit", { choices: ["token", "call"] }),
  given("--input-price <usd>", "price of a million units in, in USD", "pricing.input", { kind: "usd" }),
  given("--output-price <usd>", "price of a million units out, in USD", "pricing.output", { kind: "usd" }),
  given("--percent <n>", "a canary: its share of the calls", "percent", { kind: "integer" }),
  given("--description <text>", "what people read about it", "description"),
];

export const publishedView: View = {
  kind: "record",
  fields: [
    { title: "model", at: "model.name" },
    { title: "id", at: "model.id" },
    { title: "version", at: "version.version" },
    { title: "type", at: "model.type" },
    { title: "share of calls", at: "version.percent" },
  ],
  id: "model.name",
};

const modelView: View = { kind: "record", at: "model", fields: columns, id: "model.name" };
const model = word("model", "which model, by its name or id");
const root = "/training/models";

export const trainedModels: Group = {
  name: "models",
  summary: "Models that were trained here, and which of their versions answer",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "Trained models of the active organisation",
      method: "GET",
      path: root,
      auth: "either",
      view: { kind: "list", columns, id: "name", empty: "Nothing published yet. `gw train publish` does." },
    },
    {
      name: "publish",
      summary: "Publish parameters by their hash as a model's next version",
      method: "POST",
      path: root,
      auth: "either",
      fields: [
        ...publishFields,
        given("--blob <sha256>", "hash of the parameters, as they were put to a trainer node", "blob", {
          ...required,
          question: "SHA-256",
        }),
        given("--task <name>", "softmax, mlp, text_embedding, byte_lm, ...", "task.task", { ...required, question: "Task" }),
        given("--labels <a,b>", "names of the classes, in their order", "task.labels", { kind: "list" }),
        given("--flagged <a,b>", "classes that moderation flags", "task.flagged", { kind: "list" }),
        given("--columns <a,b>", "names of a row's fields, in their order", "task.columns", { kind: "list" }),
      ],
      view: publishedView,
    },
    {
      name: "versions",
      summary: "A trained model's versions, newest first",
      method: "GET",
      path: `${root}/:model/versions`,
      auth: "either",
      fields: [model],
      view: { kind: "list", columns: versionColumns, id: "version" },
    },
    {
      name: "rollback",
      summary: "Have one version answer every call: the one named, or the one before",
      method: "POST",
      path: `${root}/:model/rollback`,
      auth: "either",
      fields: [model, given("--to-version <n>", "which version", "version", { kind: "integer" })],
      confirm: "Have another version of {word} answer every call?",
      view: modelView,
    },
    {
      name: "split",
      summary: "Have a version answer a share of the calls",
      method: "POST",
      path: `${root}/:model/split`,
      auth: "either",
      fields: [
        model,
        given("--to-version <n>", "which version", "version", { kind: "integer", ...required }),
        given("--percent <n>", "its share, 0 to 100", "percent", { kind: "integer", ...required }),
      ],
      view: modelView,
    },
  ],
};
