import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configuredPrice } from "../common/model-data/configured-price.ts";
import { LITELLM_MODES } from "../common/model-data/litellm-modes.ts";
import { findModelData } from "../common/model-data/model-data.ts";
import type { ListedEntry, PriceList } from "../common/model-data/second-list.ts";
import { kindOfPrefix } from "../common/providers/shared/registry.ts";
import { feeDifferences } from "./fee-differences.ts";
import { withImageSizes } from "./image-sizes.ts";

/**
 * `make prices`: writes the figures of LiteLLM's public price list that the data package lacks, with their date. `LITELLM_PRICES` names a
 * file of that list; without it, it is downloaded.
 */
const SOURCE = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";
const TARGET = join(import.meta.dirname, "../common/model-data/second-list.json");

type Fields = Readonly<Record<string, unknown>>;

/** Its realtime models are chat models that speak. */
const MODES: Readonly<Record<string, ListedEntry["mode"]>> = { ...LITELLM_MODES, realtime: "chat" };

async function readList(): Promise<{ list: Readonly<Record<string, Fields>>; date: string }> {
  const file = process.env["LITELLM_PRICES"];
  const text = file === undefined ? await (await fetch(SOURCE)).text() : readFileSync(file, "utf8");
  const date = process.env["PRICES_DATE"] ?? new Date().toISOString().slice(0, 10);
  return { list: JSON.parse(text) as Readonly<Record<string, Fields>>, date };
}

/** `vertex_ai-embedding-models` is a part of vertex_ai, `bedrock_converse` of bedrock. */
function kindOf(provider: unknown): string | undefined {
  const name = String(provider);
  return (kindOfPrefix(name) ?? kindOfPrefix(name.replace(/[-_](converse|mantle|[a-z0-9]+[-_]models|embedding-models)$/, "")))?.kind;
}

/** Entries by the size or quality of an image, by region or by commitment: no model has such a name. */
const NO_MODELS =
  /^(hd|standard|low|medium|high|max|eu|us|global|global-standard|[a-z]{2}-[a-z]+-\d)\/|^\d+-x-|\/\d+-x-|steps|commitment|\*/;

/** The provider's own name: without the prefix that LiteLLM puts before it. */
function modelOf(key: string, provider: unknown): string | undefined {
  const own = key.startsWith(`${String(provider)}/`)
    ? key.slice(String(provider).length + 1)
    : key.replace(/^(gemini|vertex_ai|bedrock|cohere|azure)\//, "");
  return NO_MODELS.test(own) ? undefined : own;
}

function entryOf(fields: Fields): ListedEntry | undefined {
  const mode = MODES[String(fields["mode"])];
  const price = mode && configuredPrice(fields, {}, {});
  // A hosted model at no cost is one whose price the list does not know.
  if (!price || (price.input + price.output === 0n && !price.fees)) return undefined;
  const { source: _source, ...figures } = price;
  const limit = (name: string) => (typeof fields[name] === "number" && fields[name] > 0 ? fields[name] : undefined);
  const whole = { mode, price: figures, context: limit("max_input_tokens"), output: limit("max_output_tokens") };
  return JSON.parse(
    JSON.stringify(whole, (_name, value: unknown) => (typeof value === "bigint" ? value.toString() : value)),
  ) as ListedEntry;
}

type Kinds = Readonly<Record<string, Readonly<Record<string, ListedEntry>>>>;

/** Models that the data package has no price for, by kind, sorted. */
function kindsOf(list: Readonly<Record<string, Fields>>): Kinds {
  const kinds: Record<string, Record<string, ListedEntry>> = {};
  for (const [key, fields] of Object.entries(list)) {
    const kind = kindOf(fields["litellm_provider"]);
    const model = kind && modelOf(key, fields["litellm_provider"]);
    const entry = model && entryOf(fields);
    if (!kind || !model || !entry || findModelData({ kind, model, lists: 1 })?.pricing) continue;
    kinds[kind] = { ...kinds[kind], [model]: entry };
  }
  const sorted = Object.entries(kinds).sort();
  return Object.fromEntries(sorted.map(([kind, models]) => [kind, Object.fromEntries(Object.entries(models).sort())]));
}

/** One model in a line, so that a refresh shows what changed. */
function textOf({ kinds, ...head }: PriceList): string {
  const lines = Object.entries(kinds).map(([kind, models]) => {
    const rows = Object.entries(models).map(([model, entry]) => `${JSON.stringify(model)}:${JSON.stringify(entry)}`);
    return `${JSON.stringify(kind)}:{\n${rows.join(",\n")}\n}`;
  });
  return `${JSON.stringify(head).slice(0, -1)},\n"kinds":{\n${lines.join(",\n")}\n}}\n`;
}

function differencesOf(list: Readonly<Record<string, Fields>>): string[] {
  return Object.entries(list).flatMap(([key, fields]) => {
    const kind = kindOf(fields["litellm_provider"]);
    const model = kind && modelOf(key, fields["litellm_provider"]);
    return model ? feeDifferences(kind, model, fields) : [];
  });
}

async function main(): Promise<void> {
  const { list, date } = await readList();
  const kinds = kindsOf(withImageSizes(list));
  writeFileSync(TARGET, textOf({ source: SOURCE, license: "MIT, Copyright (c) 2023 Berri AI", date, kinds }));
  const counts = Object.entries(kinds).map(([kind, models]) => `${kind} ${Object.keys(models).length}`);
  process.stdout.write(`prices of ${date}: ${counts.join(", ")}\n`);
  const differences = differencesOf(list);
  if (differences.length === 0) return;
  process.stderr.write(`${differences.join("\n")}\nCorrect list-fees.ts, or add the reason to KNOWN in scripts/fee-differences.ts.\n`);
  process.exitCode = 1;
}

await main();
