import { parse, stringify } from "yaml";
import type { Block } from "./blocks.ts";

type Fields = Record<string, unknown>;

/** Where the scripted upstream has each provider kind of the pages. */
const PATHS: Readonly<Record<string, string>> = {
  azure: "/azure",
  openai: "/openai/v1",
  anthropic: "/anthropic",
  openrouter: "/openai/v1",
};

/** One configuration file of all that the guides show, with keys and addresses of the scripted upstream. */
export function pagesConfig(blocks: readonly Block[], upstreamUrl: string): string {
  const fragments = blocks.filter(({ language }) => language === "yaml").map(({ text }) => parse(text) as Fields);
  const merged = fragments.reduce(merge, {});
  const models = (merged["model_list"] ?? []) as { litellm_params: Fields }[];
  for (const { litellm_params: params } of models) {
    const [kind = ""] = String(params["model"]).split("/");
    if (PATHS[kind] === undefined) throw new Error(`the scripted upstream has no ${kind}`);
    Object.assign(params, { api_base: upstreamUrl + PATHS[kind], api_key: "key-of-the-pages" });
  }
  return stringify(merged);
}

/** Lists are appended, maps are merged, other values of the later one count. */
function merge(left: Fields, right: Fields): Fields {
  const merged = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const before = merged[name];
    if (Array.isArray(before) && Array.isArray(value)) merged[name] = [...before, ...value];
    else if (isFields(before) && isFields(value)) merged[name] = merge(before, value);
    else merged[name] = value;
  }
  return merged;
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
