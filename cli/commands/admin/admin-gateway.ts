import type { Group, OperationSpec } from "../../operations/spec.ts";

export const adminRouting: OperationSpec = {
  name: "routing",
  summary: "Show model groups, deployments and fallbacks, as seen by the edge that responds",
  method: "GET",
  path: "/api/admin/routing",
  auth: "user",
  view: {
    kind: "list",
    paged: false,
    columns: [
      { title: "model", at: "name" },
      { title: "strategy", at: "strategy" },
      { title: "deployments", at: "deployments.length", as: "count" },
      { title: "first state", at: "deployments.0.health.state", as: "state" },
      { title: "fallbacks", at: "fallbacks.general", as: "list" },
    ],
    id: "name",
    empty: "No models to route to.",
  },
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
