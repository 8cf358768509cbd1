import { argument, type Group, option } from "../../operations/spec.ts";
import type { Column } from "../../output/values.ts";

const routingColumns: readonly Column[] = [
  { title: "model", at: "name" },
  { title: "strategy", at: "strategy" },
  { title: "deployments", at: "deployments.length", as: "count" },
  { title: "first state", at: "deployments.0.health.state", as: "state" },
  { title: "fallbacks", at: "fallbacks.general", as: "list" },
];

export const adminRouting: Group = {
  name: "routing",
  summary: "Show and set the routing of model groups",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "Show model groups, deployments and fallbacks, as seen by the edge that responds",
      method: "GET",
      path: "/api/admin/routing",
      auth: "user",
      view: { kind: "list", paged: false, columns: routingColumns, id: "name", empty: "No models to route to." },
    },
    {
      name: "update",
      summary: "Replace what is stored of a model group: strategy, weights, order and fallbacks",
      method: "PUT",
      path: "/api/admin/routing/:model",
      auth: "user",
      fields: [
        argument("model", "model name"),
        option("--strategy <strategy>", "routing strategy, such as least-busy", "strategy"),
        option("--fallbacks <models>", "models to try next, separated by commas", "fallbacks.general", { kind: "list" }),
        option("--context-window-fallbacks <models>", "models to try if the prompt is too long", "fallbacks.contextWindow", {
          kind: "list",
        }),
        option("--content-policy-fallbacks <models>", "models to try if the content is refused", "fallbacks.contentPolicy", {
          kind: "list",
        }),
        option("--deployments <json>", 'weights and order: [{"id": "...", "weight": 3, "order": 1}]', "deployments", { kind: "json" }),
      ],
      view: {
        kind: "record",
        fields: [
          { title: "model", at: "model" },
          { title: "strategy", at: "stored.strategy" },
          { title: "fallbacks", at: "stored.fallbacks.general", as: "list" },
        ],
        id: "model",
      },
    },
  ],
};

export const adminCache: Group = {
  name: "cache",
  summary: "Manage the response cache",
  default: "show",
  operations: [
    {
      name: "show",
      summary: "Show cache settings and hit counts, as seen by the edge that responds",
      method: "GET",
      path: "/api/admin/cache",
      auth: "user",
      view: {
        kind: "record",
        fields: [
          { title: "type", at: "settings.type" },
          { title: "TTL (s)", at: "settings.ttlSeconds", as: "count" },
          { title: "hits", at: "hits", as: "count" },
          { title: "misses", at: "misses", as: "count" },
          { title: "failures", at: "failures", as: "count" },
          { title: "entries", at: "held.entries", as: "count" },
          { title: "bytes", at: "held.bytes", as: "count" },
        ],
        id: "edge",
      },
    },
    {
      name: "set",
      summary: "Set the response cache, if the configuration file does not. What is left out has its default",
      method: "PUT",
      path: "/api/admin/cache",
      auth: "user",
      fields: [
        option("--on", "switch it on", "enabled", { kind: "true" }),
        option("--off", "switch it off", "enabled", { kind: "false" }),
        option("--ttl <seconds>", "seconds until an entry expires", "ttlSeconds", { kind: "number" }),
        option("--type <type>", "memory of each edge, or the Redis that all edges share", "type", { choices: ["memory", "redis"] }),
        option("--opt-in", "only for requests that ask for it", "byDefault", { kind: "false" }),
        option("--semantic <json>", 'similar texts: {"mode": "opt_in", "threshold": 0.9, "embeddingModel": "..."}', "semantic", {
          kind: "json",
        }),
      ],
      view: {
        kind: "record",
        at: "configured",
        fields: [
          { title: "on", at: "enabled", as: "yesno" },
          { title: "TTL (s)", at: "ttlSeconds", as: "count" },
          { title: "semantic", at: "semantic.mode" },
          { title: "source", at: "source" },
        ],
        id: "configured.source",
      },
    },
    {
      name: "clear",
      summary: "Clear the response cache on every edge",
      method: "POST",
      path: "/api/admin/cache/clear",
      auth: "user",
      confirm: "Clear the response cache on every edge?",
      view: { kind: "sentence", text: () => "The response cache is cleared on every edge.", id: "cleared" },
    },
  ],
};
