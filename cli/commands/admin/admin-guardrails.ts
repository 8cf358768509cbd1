import { argument, type Field, type Group, option, required } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";

const columns: readonly Column[] = [
  { title: "guardrail", at: "name" },
  { title: "kind", at: "kind" },
  { title: "stage", at: "stage" },
  { title: "default", at: "byDefault", as: "yesno" },
  { title: "on", at: "enabled", as: "yesno" },
  { title: "source", at: "source" },
];
const counts: readonly Column[] = [
  { title: "blocked", at: "blocked", as: "count" },
  { title: "masked", at: "masked", as: "count" },
];
const view: View = { kind: "record", at: "guardrail", fields: columns, id: "guardrail.name" };

const stage = option("--stage <stage>", "what is checked: requests (pre), responses (post) or both", "stage", {
  choices: ["pre", "post", "both"],
});
const defaults: readonly Field[] = [
  option("--default", "apply it to every call", "byDefault", { kind: "true" }),
  option("--on-request", "apply it to calls that name it", "byDefault", { kind: "false" }),
  option("--on", "switch it on", "enabled", { kind: "true" }),
  option("--off", "switch it off", "enabled", { kind: "false" }),
];

export const adminGuardrails: Group = {
  name: "guardrails",
  summary: "Manage guardrails",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List guardrails and their results, as seen by the edge that responds",
      method: "GET",
      path: "/api/admin/guardrails",
      auth: "user",
      view: { kind: "list", paged: false, columns: [...columns, ...counts], id: "name", empty: "No guardrails yet." },
    },
    {
      name: "create",
      summary: "Add a guardrail. Every edge applies it within a second",
      method: "POST",
      path: "/api/admin/guardrails",
      auth: "user",
      fields: [
        option("--name <name>", "name that keys, teams and requests select it by", "name", { ...required, question: "Name" }),
        option("--kind <kind>", "word-list, regex, pii-masking, prompt-size, json-schema or moderation-model", "kind", {
          ...required,
          question: "Kind",
        }),
        option("--settings <json>", "settings of the kind, as JSON", "settings", {
          kind: "json",
          ...required,
          question: "Settings, as JSON",
        }),
        stage,
        ...defaults,
      ],
      view,
    },
    {
      name: "update",
      summary: "Update a guardrail, or switch it off",
      method: "PATCH",
      path: "/api/admin/guardrails/:name",
      auth: "user",
      fields: [
        argument("name", "guardrail name"),
        option("--settings <json>", "all settings of the kind, as JSON", "settings", { kind: "json" }),
        stage,
        ...defaults,
      ],
      view,
    },
    {
      name: "delete",
      summary: "Delete a guardrail. Calls that name it are refused from then on",
      method: "DELETE",
      path: "/api/admin/guardrails/:name",
      auth: "user",
      fields: [argument("name", "guardrail name")],
      confirm: "Delete guardrail {args}? Calls of keys and teams that name it will be refused.",
      view: { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "name"))}.`, id: "name" },
    },
    {
      name: "order",
      summary: "Set the order of the guardrails that are not in the configuration file",
      method: "PUT",
      path: "/api/admin/guardrails/order",
      auth: "user",
      fields: [option("--names <names>", "all names, separated by commas, the first one first", "names", { kind: "list", ...required })],
      view: { kind: "list", paged: false, columns, id: "name", empty: "No guardrails yet." },
    },
    {
      name: "try",
      summary: "Show what a guardrail decides about a text",
      method: "POST",
      path: "/api/admin/guardrails/try",
      auth: "user",
      fields: [
        option("--name <name>", "guardrail name", "name", { ...required, question: "Name" }),
        option("--text <text>", "text to check", "text", { ...required, question: "Text" }),
        option("--stage <stage>", "as a request (pre) or a response (post)", "stage", { choices: ["pre", "post"] }),
      ],
      view: {
        kind: "record",
        fields: [
          { title: "action", at: "action", as: "state" },
          { title: "text", at: "text" },
          { title: "reason", at: "reason" },
        ],
        id: "action",
      },
    },
  ],
};
