import { argument, type Group, option, required } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";

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
const node = argument("id", "node ID");

/** `gw train nodes`: the trainer nodes of the caller's teams. */
export const nodes: Group = {
  name: "nodes",
  summary: "Manage trainer nodes",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List trainer nodes of your teams",
      method: "GET",
      path: "/training/nodes",
      auth: "either",
      view: { kind: "list", columns: nodeColumns, id: "id", empty: "No nodes. Add one with `gw train nodes add --url http://...`." },
    },
    {
      name: "add",
      summary: "Register a trainer node with a team",
      method: "POST",
      path: "/training/nodes",
      auth: "either",
      fields: [
        option("--url <url>", "node URL", "url", { ...required, question: "URL" }),
        option("--name <name>", "node name", "name"),
        option("--team <id>", "team ID", "teamId"),
        option("--token-stdin", "read the node's token from stdin", "token", { kind: "secret", question: "Node token" }),
        option("--secret-stdin", "read the secret that signs calls to the node from stdin", "secret", {
          kind: "secret",
          question: "Node secret",
        }),
      ],
      view: nodeView,
    },
    { name: "get", summary: "Show a node", method: "GET", path: "/training/nodes/:id", auth: "either", fields: [node], view: nodeView },
    {
      name: "health",
      summary: "Check whether a node is reachable",
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
      summary: "Remove a node. Running federations continue to use it",
      method: "DELETE",
      path: "/training/nodes/:id",
      auth: "either",
      fields: [node],
      confirm: "Remove node {args}?",
      view: { kind: "sentence", text: (body) => `Removed ${String(valueAt(body, "id"))}.`, id: "id" },
    },
  ],
};
