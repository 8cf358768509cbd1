import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const docs = resolve(import.meta.dirname, "..");

/** A group of the side bar. */
export interface Section {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
  readonly collapsed?: boolean;
}

const page = (text: string, link: string) => ({ text, link });

/** A folder's pages by their titles, which a list by hand would miss when one is added. */
function pagesOf(folder: string): Section["items"] {
  const names = readdirSync(join(docs, folder)).filter((name) => name.endsWith(".md") && name !== "index.md");
  return names.sort().map((name) => {
    const [title = name] = readFileSync(join(docs, folder, name), "utf8").split("\n");
    return page(title.replace(/^# /, ""), `/${folder}/${name.replace(/\.md$/, "")}`);
  });
}

/** The guides, each written for its place here. */
export const GUIDES: readonly Section[] = [
  {
    text: "Start",
    items: [
      page("Quick start", "/quick-start"),
      page("Concepts", "/concepts"),
      page("A customer's workflow", "/tutorial-platform"),
      page("API examples", "/api-examples"),
      page("Questions and answers", "/faq"),
    ],
  },
  {
    text: "Gateway",
    items: [
      page("Keys and budgets", "/guides/keys-and-budgets"),
      page("Routing and fallbacks", "/guides/routing"),
      page("Guardrails", "/guides/guardrails"),
      page("Cache", "/guides/cache"),
      page("Batches", "/guides/batches"),
      page("Assistants", "/guides/assistants"),
      page("Webhooks and payments", "/guides/webhooks-and-payments"),
      page("Observability", "/guides/observability"),
      page("Prices", "/prices"),
    ],
  },
  {
    text: "Training",
    items: [
      page("Federations", "/guides/federations"),
      page("Privacy", "/guides/privacy"),
      page("Your own training code", "/guides/own-training-code"),
      page("Serve what you trained", "/guides/serving"),
      page("Training in depth", "/training"),
    ],
  },
  {
    text: "Coming from",
    items: [
      page("LiteLLM", "/litellm"),
      page("OpenRouter", "/coming-from/openrouter"),
      page("Flower", "/coming-from/flower"),
      page("FLock", "/coming-from/flock"),
      page("How it compares", "/comparison"),
      page("Benchmarks", "/benchmarks"),
    ],
  },
  {
    text: "Reference",
    items: [
      page("gw, the command line", "/cli"),
      page("Settings", "/settings"),
      page("Sign-in", "/sign-in"),
      page("Account security", "/account-security"),
      page("What works", "/status"),
      page("Glossary", "/glossary"),
      page("For agents", "/agents"),
    ],
  },
  {
    text: "Operations",
    items: [page("Many machines", "/guides/many-machines"), page("All pages", "/operations")],
  },
  {
    text: "Project",
    items: [
      page("Architecture", "/project/architecture"),
      page("Security", "/project/security"),
      page("Contributing", "/project/contributing"),
      page("Python SDK", "/project/python-sdk"),
      page("Changes", "/project/changelog"),
    ],
  },
];

export const SIDEBAR: readonly Section[] = [
  ...GUIDES,
  { text: "Console", items: [page("Every screen of the console", "/screens")] },
  { text: "Operations, page by page", items: pagesOf("operations"), collapsed: true },
  { text: "Runbooks", items: pagesOf("operations/runbooks"), collapsed: true },
  { text: "Decisions", items: pagesOf("decisions"), collapsed: true },
];
