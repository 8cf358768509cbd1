import type { JsonSchema, OpenApiDocument, OpenApiOperation } from "../openapi.ts";

/** The page may load only its own style. It has no script. */
export const DOCS_CONTENT_POLICY =
  "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The OpenAPI document as one HTML page. */
export function docsPage(document: OpenApiDocument): string {
  const sections = document.tags.map(({ name }) => section(document, name));
  const links = document.tags.map(({ name }) => `<a href="#${slug(name)}">${escapeHtml(name)}</a>`);
  const intro = document.info.description.split("\n\n").map((paragraph) => `<p>${inline(paragraph)}</p>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(document.info.title)} API</title><style>${STYLE}</style></head>
<body><nav><h1>${escapeHtml(document.info.title)}</h1>${links.join("")}<a href="#records">Records</a><a href="/openapi.json">openapi.json</a></nav>
<main>${intro.join("")}${sections.join("")}${records(document)}</main></body></html>
`;
}

/** The page with the way to the guides, which `make docs` builds. */
export function withGuides(page: string, areBuilt: boolean): string {
  const text = areBuilt
    ? '<a href="/docs/">Guides</a>: quick start, concepts, what to do how, questions and answers.'
    : "The guides are not built here: run <code>make docs</code>, then reload this page.";
  return page.replace("<main>", `<main><p>${text}</p>`);
}

function section(document: OpenApiDocument, tag: string): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, entry]) => entry.tags.includes(tag))
      .map(([method, entry]) => operationHtml({ path, method, entry })),
  );
  return `<section id="${slug(tag)}"><h2>${escapeHtml(tag)}</h2>${entries.join("")}</section>`;
}

function operationHtml({ path, method, entry }: { path: string; method: string; entry: OpenApiOperation }): string {
  const parameters = (entry.parameters ?? []).map(({ name, schema, required, in: place }) =>
    fieldRow({ name, schema, required, note: place }),
  );
  const body = entry.requestBody?.content["application/json"]?.schema;
  const responses = Object.entries(entry.responses).map(([status, { description, content }]) => {
    const [type, media] = Object.entries(content ?? {})[0] ?? [];
    const shape = media
      ? `<td><code>${typeOf(media.schema)}</code>${type === "application/json" ? "" : ` ${escapeHtml(type ?? "")}`}</td>`
      : "<td></td>";
    return `<tr><td><code>${escapeHtml(status)}</code></td>${shape}<td>${escapeHtml(description)}</td></tr>`;
  });
  return `<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code> <span>${escapeHtml(entry.summary)}</span>${
    entry.security.length > 0 ? '<i title="needs authentication">auth</i>' : ""
  }</summary>${table("Parameters", parameters)}${body ? schemaTable("Body", body) : ""}${table("Responses", responses)}${samples(entry)}</details>`;
}

/** A tab per language, by radio buttons: the page has no script. */
function samples({ operationId, "x-codeSamples": entries }: OpenApiOperation): string {
  const tabs = entries.map(
    ({ label }, index) =>
      `<input type="radio" name="${operationId}" id="${operationId}-${label}"${index === 0 ? " checked" : ""}><label for="${operationId}-${label}">${label}</label>`,
  );
  const texts = entries.map(({ source }) => `<pre tabindex="0"><code>${escapeHtml(source)}</code></pre>`);
  return `<h3>Samples</h3><div class="samples">${tabs.join("")}${texts.join("")}</div>`;
}

function records(document: OpenApiDocument): string {
  const entries = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      `<details id="record-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary>${schemaTable("", schema)}</details>`,
  );
  return `<section id="records"><h2>Records</h2>${entries.join("")}</section>`;
}

function schemaTable(title: string, schema: JsonSchema): string {
  const properties = schema["properties"] as Record<string, JsonSchema> | undefined;
  if (!properties) return table(title, [`<tr><td><code>${typeOf(schema)}</code></td></tr>`]);
  const required = (schema["required"] ?? []) as string[];
  const rows = Object.entries(properties).map(([name, inner]) =>
    fieldRow({ name, schema: inner, required: required.includes(name), note: "" }),
  );
  return table(title, rows);
}

function fieldRow({ name, schema, required, note }: { name: string; schema: JsonSchema; required: boolean; note: string }): string {
  const notes = [required ? "required" : "", note, limitsOf(schema)].filter((text) => text !== "");
  return `<tr><td><code>${escapeHtml(name)}</code></td><td><code>${typeOf(schema)}</code></td><td>${escapeHtml(notes.join(", "))}</td></tr>`;
}

function limitsOf(schema: JsonSchema): string {
  const labels = {
    minimum: "at least",
    maximum: "at most",
    minLength: "length from",
    maxLength: "length to",
    maxItems: "items up to",
    default: "default",
  };
  return Object.entries(labels)
    .filter(([key]) => schema[key] !== undefined)
    .map(([key, label]) => `${label} ${String(schema[key])}`)
    .join(", ");
}

/** A short description of a schema as HTML; names of records are links. */
function typeOf(schema: JsonSchema): string {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const name = escapeHtml(reference.split("/").at(-1) ?? "");
    return `<a href="#record-${name}">${name}</a>`;
  }
  const options = (schema["anyOf"] ?? schema["oneOf"]) as JsonSchema[] | undefined;
  if (options) return options.map(typeOf).join(" | ");
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => escapeHtml(JSON.stringify(value))).join(" | ");
  if (schema["const"] !== undefined) return escapeHtml(JSON.stringify(schema["const"]));
  if (schema["type"] === "array") return `${typeOf((schema["items"] ?? {}) as JsonSchema)}[]`;
  const properties = schema["properties"] as Record<string, JsonSchema> | undefined;
  if (properties)
    return `{ ${Object.entries(properties)
      .map(([name, inner]) => `${escapeHtml(name)}: ${typeOf(inner)}`)
      .join(", ")} }`;
  const type = Array.isArray(schema["type"]) ? schema["type"].join(" | ") : String(schema["type"] ?? "any");
  return escapeHtml(typeof schema["format"] === "string" ? `${type} (${schema["format"]})` : type);
}

function table(title: string, rows: readonly string[]): string {
  if (rows.length === 0) return "";
  return `${title === "" ? "" : `<h3>${escapeHtml(title)}</h3>`}<table>${rows.join("")}</table>`;
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

function slug(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5d6b7c;--line:#dfe5ec;--card:#fff;--ground:#f5f7fa;--link:#0b63c5}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9f0;--soft:#93a1b3;--line:#2b3542;--card:#171e27;--ground:#10151c;--link:#6db3ff}}
*{box-sizing:border-box}html{scroll-behavior:smooth}body{margin:0;font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--ground);display:flex}
nav{position:sticky;top:0;height:100vh;width:210px;flex:none;padding:24px;border-right:1px solid var(--line);display:flex;flex-direction:column;gap:6px;overflow:auto}
nav h1{font-size:20px;margin:0 0 12px}a{color:var(--link);text-decoration:none}main{padding:24px 36px;max-width:1050px;flex:1;min-width:0}
h2{margin:36px 0 12px;font-size:19px}h3{font-size:13px;color:var(--soft);margin:14px 0 4px;text-transform:uppercase;letter-spacing:.04em}
details{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:8px 0;padding:0 14px}summary{padding:10px 0;cursor:pointer}
summary span{color:var(--soft);margin-left:8px}summary b{display:inline-block;min-width:62px;text-align:center;border-radius:5px;color:#fff;font-size:12px;padding:2px 6px}
summary i{float:right;font-style:normal;font-size:12px;color:var(--soft);border:1px solid var(--line);border-radius:5px;padding:0 6px}
.get{background:#0a7d5a}.post{background:#0b63c5}.put,.patch{background:#a15c00}.delete{background:#b3261e}
code{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}table{width:100%;border-collapse:collapse;margin-bottom:12px}td{border-top:1px solid var(--line);padding:5px 12px 5px 0;vertical-align:top}
.samples{margin-bottom:14px}.samples input{position:absolute;opacity:0}.samples label{display:inline-block;padding:3px 12px;cursor:pointer;color:var(--soft);border-bottom:2px solid transparent}
.samples input:checked+label{color:var(--ink);border-color:var(--link)}.samples input:focus-visible+label{outline:2px solid var(--link)}
.samples pre{display:none;margin:0;padding:10px 14px;overflow-x:auto;background:var(--ground);border:1px solid var(--line);border-radius:6px}.samples pre code{overflow-wrap:normal}
${[1, 2, 3, 4].map((tab) => `.samples input:nth-of-type(${tab}):checked~pre:nth-of-type(${tab})`).join(",")}{display:block}
td:last-child{color:var(--soft)}@media(max-width:720px){body{display:block}nav{position:static;height:auto;width:auto;flex-flow:row wrap}main{padding:12px}}
`;
