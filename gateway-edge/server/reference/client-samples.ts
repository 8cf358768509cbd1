import type { OperationDescription } from "../../schemas/operation-description.ts";
import type { RequestExample } from "./examples/example.ts";
import { javascriptLiteral, pythonLiteral } from "./literals.ts";
import { mainPath, requestExample } from "./request-example.ts";

/** Methods of OpenAI's official clients, as Python names them, for operations with at most one ID. */
const METHODS: Readonly<Record<string, string>> = {
  "post /v1/chat/completions": "chat.completions.create",
  "post /v1/completions": "completions.create",
  "post /v1/embeddings": "embeddings.create",
  "post /v1/moderations": "moderations.create",
  "post /v1/audio/speech": "audio.speech.create",
  "post /v1/audio/transcriptions": "audio.transcriptions.create",
  "post /v1/audio/translations": "audio.translations.create",
  "post /v1/images/generations": "images.generate",
  "post /v1/images/edits": "images.edit",
  "get /v1/models": "models.list",
  "get /v1/models/:id": "models.retrieve",
  "post /v1/responses": "responses.create",
  "get /v1/responses/:response_id": "responses.retrieve",
  "delete /v1/responses/:response_id": "responses.delete",
  "post /v1/responses/:response_id/cancel": "responses.cancel",
  "get /v1/responses/:response_id/input_items": "responses.input_items.list",
  "post /v1/files": "files.create",
  "get /v1/files": "files.list",
  "get /v1/files/:file_id": "files.retrieve",
  "delete /v1/files/:file_id": "files.delete",
  "get /v1/files/:file_id/content": "files.content",
  "post /v1/batches": "batches.create",
  "get /v1/batches": "batches.list",
  "get /v1/batches/:batch_id": "batches.retrieve",
  "post /v1/batches/:batch_id/cancel": "batches.cancel",
  "post /v1/vector_stores": "vector_stores.create",
  "get /v1/vector_stores": "vector_stores.list",
  "get /v1/vector_stores/:vector_store_id": "vector_stores.retrieve",
  "post /v1/vector_stores/:vector_store_id": "vector_stores.update",
  "delete /v1/vector_stores/:vector_store_id": "vector_stores.delete",
  "post /v1/vector_stores/:vector_store_id/search": "vector_stores.search",
  "post /v1/vector_stores/:vector_store_id/files": "vector_stores.files.create",
  "get /v1/vector_stores/:vector_store_id/files": "vector_stores.files.list",
  "post /v1/conversations": "conversations.create",
  "get /v1/conversations/:conversation_id": "conversations.retrieve",
  "post /v1/conversations/:conversation_id": "conversations.update",
  "delete /v1/conversations/:conversation_id": "conversations.delete",
  "post /v1/conversations/:conversation_id/items": "conversations.items.create",
  "get /v1/conversations/:conversation_id/items": "conversations.items.list",
};

/** The operation with OpenAI's clients for Python and Node, if they have it. */
export function clientSamples({ method, path }: OperationDescription): { python: string; node: string } | undefined {
  const main = mainPath(path);
  const name = METHODS[`${method} ${main}`];
  // The paths with a model in them are those of Azure, for which there is a client of its own.
  if (name === undefined || path.includes(":model")) return undefined;
  const example = requestExample({ method, path });
  const prefix = path === main ? "/v1" : "";
  return { python: python(name, prefix, example), node: node(name, prefix, example) };
}

function python(name: string, prefix: string, { params = {}, body = {}, file, save }: RequestExample): string {
  const given = [
    ...Object.values(params).map((id) => JSON.stringify(id)),
    ...Object.entries(body).map(([key, value]) => `${key}=${pythonLiteral(value, "    ")}`),
    ...(file?.field ? [`${file.field}=open("${file.name}", "rb")`] : []),
  ];
  return [
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=os.environ["B"]${prefix === "" ? "" : ` + "${prefix}"`}, api_key=os.environ["KEY"])`,
    `answer = client.${name}(${given.join(", ")})`,
    save ? `answer.write_to_file("${save}")` : `print(answer${name === "files.content" ? ".text" : ""})`,
  ].join("\n");
}

function node(name: string, prefix: string, { params = {}, body = {}, file, save }: RequestExample): string {
  const fields = Object.entries(body).map(([key, value]) => `${key}: ${javascriptLiteral(value, "  ")}`);
  const upload = file?.field ? [`${file.field}: createReadStream("${file.name}")`] : [];
  const object = [...fields, ...upload];
  const given = [...Object.values(params).map((id) => JSON.stringify(id)), ...(object.length > 0 ? [`{ ${object.join(", ")} }`] : [])];
  const printed = name === "files.content" ? "console.log(await answer.text());" : "console.log(answer);";
  const camelName = name.replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase());
  return [
    ...(file ? [`import { createReadStream } from "node:fs";`] : []),
    ...(save ? [`import { writeFile } from "node:fs/promises";`] : []),
    `import OpenAI from "openai";`,
    "",
    `const client = new OpenAI({ baseURL: ${prefix === "" ? "process.env.B" : `\`\${process.env.B}${prefix}\``}, apiKey: process.env.KEY });`,
    `const answer = await client.${camelName}(${given.join(", ")});`,
    save ? `await writeFile("${save}", await answer.bytes());` : printed,
  ].join("\n");
}
