import { rateLimitFields } from "../../operations/limit-fields.ts";
import { type Field, filter, type Group, given, required, word } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";
import { modelColumns, modelFields, modelFilters, providerColumns } from "../catalog.ts";

const modelView: View = { kind: "record", at: "model", fields: modelFields, id: "model.id" };
const providerView: View = { kind: "record", at: "provider", fields: providerColumns, id: "provider.id" };
const deleted: View = { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "id"))}.`, id: "id" };

const price = (flag: string, what: string, to: string): Field =>
  given(`${flag} <usd>`, `price of a million ${what}, in USD`, `pricing.${to}`, { kind: "usd" });

const modelSettings: readonly Field[] = [
  price("--input-price", "input units", "input"),
  price("--output-price", "output units", "output"),
  price("--cached-input-price", "input tokens the provider had cached", "cachedInput"),
  price("--cache-write-price", "tokens written to the provider's cache", "cacheWrite"),
  given("--price-unit <unit>", "what is counted", "pricing.unit", { choices: ["token", "character", "millisecond", "image", "search"] }),
  given("--price-from <time>", "when the price begins to hold", "pricing.effectiveAt", { kind: "time" }),
  given("--context-window <n>", "tokens it can read", "contextWindow", { kind: "integer" }),
  given("--max-output <n>", "tokens it can write", "maxOutputTokens", { kind: "integer" }),
  given("--description <text>", "what people read about it", "description"),
  ...rateLimitFields,
];

export const adminModels: Group = {
  name: "models",
  summary: "Models of the catalogue",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "Every model, disabled ones too",
      method: "GET",
      path: "/api/admin/models",
      auth: "user",
      fields: modelFilters,
      view: { kind: "list", columns: [{ title: "id", at: "id" }, ...modelColumns], id: "id", empty: "No such model." },
    },
    {
      name: "create",
      summary: "Add a model; every edge serves it within a second",
      method: "POST",
      path: "/api/admin/models",
      auth: "user",
      fields: [
        given("--name <name>", "what callers ask for", "name", { ...required, question: "Name" }),
        given("--provider <id>", "whose it is", "provider", { ...required, question: "Provider" }),
        given("--inference-model <id>", "what the provider calls it", "inferenceModelId", {
          ...required,
          question: "Model id at the provider",
        }),
        given("--type <type>", "chat, completion, embedding, image, audio_speech, audio_transcription, moderation or rerank", "type"),
        ...modelSettings,
      ],
      view: modelView,
    },
    {
      name: "update",
      summary: "Change a model; a new price is a new version of it",
      method: "PATCH",
      path: "/api/admin/models/:id",
      auth: "user",
      fields: [
        word("id", "which model"),
        given("--name <name>", "new name", "name"),
        given("--inference-model <id>", "what the provider calls it", "inferenceModelId"),
        given("--status <status>", "whether it can be called", "status", { choices: ["active", "disabled"] }),
        ...modelSettings,
      ],
      view: modelView,
    },
    {
      name: "delete",
      summary: "Take a model out of the catalogue",
      method: "DELETE",
      path: "/api/admin/models/:id",
      auth: "user",
      fields: [word("id", "which model")],
      confirm: "Take the model {word} out of the catalogue?",
      view: deleted,
    },
  ],
};

const providerSettings: readonly Field[] = [
  given("--base-url <url>", "its address, where it is not the usual one", "baseUrl"),
  given("--key-stdin", "read its API key from standard input", "apiKey", { kind: "secret", question: "API key of the provider" }),
];

export const adminProviders: Group = {
  name: "providers",
  summary: "Providers of models",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "Every provider",
      method: "GET",
      path: "/api/admin/providers",
      auth: "user",
      fields: [filter("--search <text>", "in names", "search")],
      view: { kind: "list", columns: providerColumns, id: "id", empty: "No such provider." },
    },
    {
      name: "create",
      summary: "Add a provider; its key is never shown again",
      method: "POST",
      path: "/api/admin/providers",
      auth: "user",
      fields: [
        given("--name <name>", "what it is called", "name", { ...required, question: "Name" }),
        given("--kind <kind>", "openai, anthropic, azure, gemini, bedrock, echo, ...", "kind", { ...required, question: "Kind" }),
        ...providerSettings,
      ],
      view: providerView,
    },
    {
      name: "update",
      summary: "Change a provider's name, address or key",
      method: "PATCH",
      path: "/api/admin/providers/:id",
      auth: "user",
      fields: [word("id", "which provider"), given("--name <name>", "new name", "name"), ...providerSettings],
      view: providerView,
    },
    {
      name: "delete",
      summary: "Remove a provider",
      method: "DELETE",
      path: "/api/admin/providers/:id",
      auth: "user",
      fields: [word("id", "which provider")],
      confirm: "Remove the provider {word}?",
      view: deleted,
    },
  ],
};
