import type { Group, OperationSpec } from "../../operations/spec.ts";

export const adminRouting: OperationSpec = {
  name: "routing",
  summary: "Groups of deployments and their fallbacks, as the edge that answers sees them",
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
      { title: "first", at: "deployments.0.health.state", as: "state" },
      { title: "fallbacks", at: "fallbacks.general", as: "list" },
    ],
    id: "name",
    empty: "There is no model to route to.",
  },
};

export const adminGuardrails: OperationSpec = {
  name: "guardrails",
  summary: "Configured guardrails, and what they found at the edge that answers",
  method: "GET",
  path: "/api/admin/guardrails",
  auth: "user",
  view: {
    kind: "list",
    paged: false,
    columns: [
      { title: "guardrail", at: "name" },
      { title: "kind", at: "kind" },
      { title: "stage", at: "stage" },
      { title: "always", at: "byDefault", as: "yesno" },
      { title: "blocked", at: "blocked", as: "count" },
      { title: "masked", at: "masked", as: "count" },
    ],
    id: "name",
    empty: "No guardrail is configured.",
  },
};

export const adminCache: Group = {
  name: "cache",
  summary: "Answers that are kept",
  alone: "show",
  operations: [
    {
      name: "show",
      summary: "How answers are kept, and how often that helped at the edge that answers",
      method: "GET",
      path: "/api/admin/cache",
      auth: "user",
      view: {
        kind: "record",
        fields: [
          { title: "kept in", at: "settings.type" },
          { title: "seconds", at: "settings.ttlSeconds", as: "count" },
          { title: "hits", at: "hits", as: "count" },
          { title: "misses", at: "misses", as: "count" },
          { title: "failures", at: "failures", as: "count" },
          { title: "answers", at: "held.entries", as: "count" },
          { title: "bytes", at: "held.bytes", as: "count" },
        ],
        id: "edge",
      },
    },
    {
      name: "clear",
      summary: "Have every edge forget the answers it keeps",
      method: "POST",
      path: "/api/admin/cache/clear",
      auth: "user",
      confirm: "Have every edge forget the answers it keeps?",
      view: { kind: "sentence", text: () => "Every edge forgets the answers it kept.", id: "cleared" },
    },
  ],
};
