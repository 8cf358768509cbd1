import { rateLimitFields } from "../../operations/limit-fields.ts";
import { argument, type Field, filter, type Group, option, required } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";
import { modelColumns, modelFields, modelFilters, providerColumns } from "../catalog.ts";

const modelView: View = { kind: "record", at: "model", fields: modelFields, id: "model.id" };
const providerView: View = { kind: "record", at: "provider", fields: providerColumns, id: "provider.id" };
const deleted: View = { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "id"))}.`, id: "id" };

const listPriceColumns: readonly Column[] = [
  { title: "model", at: "inferenceModelId" },
  { title: "type", at: "type" },
  { title: "context", at: "contextWindow", as: "count" },
  { title: "unit", at: "pricing.unit" },
  { title: "input/M", at: "pricing.input", as: "price" },
  { title: "output/M", at: "pricing.output", as: "price" },
];

const price = (flag: string, what: string, to: string): Field =>
  option(`${flag} <usd>`, `USD per million ${what}`, `pricing.${to}`, { kind: "usd" });

const modelSettings: readonly Field[] = [
  price("--input-price", "input units", "input"),
  price("--output-price", "output units", "output"),
  price("--cached-input-price", "cached input tokens", "cachedInput"),
  price("--cache-write-price", "cache write tokens", "cacheWrite"),
  price("--cache-write-hour-price", "cache write tokens that last an hour", "cacheWriteHour"),
  price("--web-search-price", "web searches that the provider runs", "webSearch"),
  price("--web-search-preview-price", "web searches of the preview tool", "fees.webSearchPreview"),
  price("--file-search-price", "file searches that the provider runs", "fees.fileSearch"),
  price("--code-session-price", "code execution sessions at the provider", "fees.codeSession"),
  price("--generated-image-price", "images that the provider's image tool makes", "fees.generatedImage"),
  price("--guardrail-price", "text units of the provider's guardrail", "fees.guardrailUnit"),
  option("--price-unit <unit>", "billing unit", "pricing.unit", { choices: ["token", "character", "millisecond", "image", "search"] }),
  option("--price-from <time>", "when the price takes effect", "pricing.effectiveAt", { kind: "time" }),
  option("--context-window <n>", "maximum context, in tokens", "contextWindow", { kind: "integer" }),
  option("--max-output <n>", "maximum output, in tokens", "maxOutputTokens", { kind: "integer" }),
  option("--description <text>", "description shown in the model hub", "description"),
  ...rateLimitFields,
];

export const adminModels: Group = {
  name: "models",
  summary: "Manage models in the catalog",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List all models, including disabled ones",
      method: "GET",
      path: "/api/admin/models",
      auth: "user",
      fields: modelFilters,
      view: { kind: "list", columns: [{ title: "id", at: "id" }, ...modelColumns], id: "id", empty: "No models found." },
    },
    {
      name: "prices",
      summary: "List the models of a provider kind that the public price lists know, with their list prices",
      method: "GET",
      path: "/api/admin/list-prices",
      auth: "user",
      fields: [
        filter("--kind <kind>", "provider kind; `gw providers kinds` lists them", "kind", required),
        filter("--search <text>", "search by model", "search"),
      ],
      view: { kind: "list", columns: listPriceColumns, id: "inferenceModelId", empty: "No models found." },
    },
    {
      name: "create",
      summary: "Add a model. Every edge serves it within a second",
      method: "POST",
      path: "/api/admin/models",
      auth: "user",
      fields: [
        option("--name <name>", "model name that clients send", "name", { ...required, question: "Name" }),
        option("--provider <id>", "provider ID", "provider", { ...required, question: "Provider" }),
        option("--inference-model <id>", "model ID at the provider", "inferenceModelId", {
          ...required,
          question: "Model ID at the provider",
        }),
        option(
          "--type <type>",
          "model type: chat, completion, embedding, image, audio_speech, audio_transcription, moderation or rerank",
          "type",
        ),
        ...modelSettings,
      ],
      view: modelView,
    },
    {
      name: "update",
      summary: "Update a model. A new price creates a new price version",
      method: "PATCH",
      path: "/api/admin/models/:id",
      auth: "user",
      fields: [
        argument("id", "model ID"),
        option("--name <name>", "new name", "name"),
        option("--inference-model <id>", "model ID at the provider", "inferenceModelId"),
        option("--status <status>", "model status", "status", { choices: ["active", "disabled"] }),
        ...modelSettings,
      ],
      view: modelView,
    },
    {
      name: "delete",
      summary: "Delete a model from the catalog",
      method: "DELETE",
      path: "/api/admin/models/:id",
      auth: "user",
      fields: [argument("id", "model ID")],
      confirm: "Delete model {args} from the catalog?",
      view: deleted,
    },
  ],
};

const providerSettings: readonly Field[] = [
  option("--base-url <url>", "base URL, if not the default of the provider kind", "baseUrl"),
  option("--ca-file <file>", "PEM file of the authorities of its server's certificate; none: remove", "ca", { kind: "file" }),
  option("--client-cert-file <file>", "PEM file of the certificate that the gateway presents; none: remove", "clientCertificate", {
    kind: "file",
  }),
  option("--client-key-file <file>", "PEM file of that certificate's private key; none: remove", "clientKey", { kind: "file" }),
  option("--key-stdin", "read the provider's API key from stdin", "apiKey", { kind: "secret", question: "Provider API key" }),
];

export const adminProviders: Group = {
  name: "providers",
  summary: "Manage providers",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List all providers",
      method: "GET",
      path: "/api/admin/providers",
      auth: "user",
      fields: [filter("--search <text>", "search by name", "search")],
      view: { kind: "list", columns: providerColumns, id: "id", empty: "No providers found." },
    },
    {
      name: "create",
      summary: "Add a provider. Its API key is never shown again",
      method: "POST",
      path: "/api/admin/providers",
      auth: "user",
      fields: [
        option("--name <name>", "provider name", "name", { ...required, question: "Name" }),
        option("--kind <kind>", "provider kind; `gw providers kinds` lists them", "kind", { ...required, question: "Kind" }),
        ...providerSettings,
      ],
      view: providerView,
    },
    {
      name: "update",
      summary: "Update a provider's name, base URL, API key or certificates",
      method: "PATCH",
      path: "/api/admin/providers/:id",
      auth: "user",
      fields: [argument("id", "provider ID"), option("--name <name>", "new name", "name"), ...providerSettings],
      view: providerView,
    },
    {
      name: "delete",
      summary: "Delete a provider",
      method: "DELETE",
      path: "/api/admin/providers/:id",
      auth: "user",
      fields: [argument("id", "provider ID")],
      confirm: "Delete provider {args}?",
      view: deleted,
    },
  ],
};
