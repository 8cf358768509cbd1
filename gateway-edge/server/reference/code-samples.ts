import type { OperationDescription } from "../../schemas/operation-description.ts";
import { clientSamples } from "./client-samples.ts";
import type { CodeSample } from "./code-sample.ts";
import { GW_COMMANDS } from "./gen/gw-commands.ts";
import { javascriptLiteral, pythonLiteral, shellWord } from "./literals.ts";
import { realtimeSamples } from "./realtime-samples.ts";
import { type SampleRequest, sampleRequest, type VariableHeader } from "./sample-request.ts";

/** The same request in each language: with the official client where it has the operation, and with `gw` where it can send it. */
export function codeSamples(entry: OperationDescription): readonly CodeSample[] {
  const request = sampleRequest(entry);
  if (entry.tags.includes("Realtime")) return realtimeSamples(request);
  const client = clientSamples(entry);
  const gw = gwLine(entry, request);
  return [
    { lang: "Shell", label: "curl", source: curl(request) },
    { lang: "Python", label: "Python", source: client?.python ?? python(request) },
    { lang: "JavaScript", label: "Node", source: client?.node ?? node(request) },
    ...(gw === undefined ? [] : [{ lang: "Shell", label: "gw", source: gw } as const]),
  ];
}

const isJson = ({ body, bodyType }: SampleRequest): boolean => body !== undefined && bodyType === "application/json";
const fieldsOf = ({ body = {} }: SampleRequest): [string, string][] => Object.entries(body).map(([name, value]) => [name, String(value)]);

function curl(request: SampleRequest): string {
  const { method, path, body, bodyType, file, save, isStream } = request;
  const sends = body !== undefined || file !== undefined;
  const usual = sends ? "POST" : "GET";
  const parts = [
    `curl -s${isStream ? "N" : ""}${method === usual ? "" : ` -X ${method}`} "$B${path}"`,
    ...request.headers.map(({ name, prefix, variable }) => `-H "${name}: ${prefix}$${variable}"`),
    ...(isJson(request) ? ["-H 'content-type: application/json'", `-d ${shellWord(JSON.stringify(body))}`] : []),
    ...(bodyType === "application/json" ? [] : fieldsOf(request).map(([name, value]) => formField(bodyType, name, value))),
    ...(file ? [file.field === undefined ? `--data-binary @${file.name}` : `-F ${file.field}=@${file.name}`] : []),
    ...(save ? [`-o ${save}`] : []),
  ];
  return parts.join(" \\\n  ");
}

const formField = (bodyType: SampleRequest["bodyType"], name: string, value: string): string =>
  `${bodyType === "multipart/form-data" ? "-F" : "--data-urlencode"} ${shellWord(`${name}=${value}`)}`;

function python(request: SampleRequest): string {
  const { method, path, body, file, save, isStream } = request;
  const headers = request.headers.map(({ name, prefix, variable }) => {
    const value = `os.environ["${variable}"]`;
    return `${JSON.stringify(name)}: ${prefix === "" ? value : `${JSON.stringify(prefix)} + ${value}`}`;
  });
  const given = [
    `os.environ["B"] + ${JSON.stringify(path)}`,
    ...(headers.length > 0 ? [`headers={${headers.join(", ")}}`] : []),
    ...(body === undefined ? [] : [`${isJson(request) ? "json" : "data"}=${pythonLiteral(body, "    ")}`]),
    ...(file ? [file.field === undefined ? `data=open("${file.name}", "rb")` : `files={"${file.field}": open("${file.name}", "rb")}`] : []),
    ...(isStream ? ["stream=True"] : []),
  ];
  return [
    "import os",
    "import requests",
    "",
    `answer = requests.${method.toLowerCase()}(`,
    ...given.map((argument) => `    ${argument},`),
    ")",
    "answer.raise_for_status()",
    ...(isStream
      ? ["for line in answer.iter_lines(decode_unicode=True):", "    print(line)"]
      : [save ? `open("${save}", "wb").write(answer.content)` : "print(answer.text)"]),
  ].join("\n");
}

function node(request: SampleRequest): string {
  const { method, path, save, isStream } = request;
  const headers = [
    ...request.headers.map(({ name, prefix, variable }) => {
      const value = prefix === "" ? `process.env.${variable}` : `\`${prefix}\${process.env.${variable}}\``;
      return `${/^[A-Za-z]+$/.test(name) ? name : JSON.stringify(name)}: ${value}`;
    }),
    ...(isJson(request) ? [`"content-type": "application/json"`] : []),
  ];
  const { imports, before, body } = nodeBody(request);
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}"`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(", ")} }`] : []),
    ...(body === undefined ? [] : [`body${body === "body" ? "" : `: ${body}`}`]),
  ];
  const url = `\`\${process.env.B}${path}\``;
  const call =
    options.length > 0
      ? [`const answer = await fetch(${url}, {`, ...options.map((option) => `  ${option},`), "});"]
      : [`const answer = await fetch(${url});`];
  const files = [...imports, ...(save ? ["writeFile"] : [])];
  return [
    ...(files.length > 0 ? [`import { ${files.join(", ")} } from "node:fs/promises";`, ""] : []),
    ...before,
    ...call,
    "if (!answer.ok) throw new Error(await answer.text());",
    ...(isStream
      ? ["for await (const part of answer.body.pipeThrough(new TextDecoderStream())) process.stdout.write(part);"]
      : [save ? `await writeFile("${save}", await answer.bytes());` : "console.log(await answer.text());"]),
  ].join("\n");
}

interface NodeBody {
  readonly imports: readonly string[];
  readonly before: readonly string[];
  readonly body?: string;
}

function nodeBody(request: SampleRequest): NodeBody {
  const { body, bodyType, file } = request;
  if (file?.field === undefined && file) return { imports: ["readFile"], before: [], body: `await readFile("${file.name}")` };
  if (isJson(request)) return { imports: [], before: [], body: `JSON.stringify(${javascriptLiteral(body, "  ")})` };
  if (body === undefined) return { imports: [], before: [] };
  if (bodyType === "application/x-www-form-urlencoded") {
    return { imports: [], before: [], body: `new URLSearchParams(${javascriptLiteral(body, "  ")})` };
  }
  const appended = fieldsOf(request).map(([name, value]) => `body.append("${name}", ${JSON.stringify(value)});`);
  const upload = file ? [`body.append("${file.field}", new Blob([await readFile("${file.name}")]), "${file.name}");`] : [];
  return { imports: file ? ["readFile"] : [], before: ["const body = new FormData();", ...appended, ...upload], body: "body" };
}

const anyParameter = (path: string): string => path.replace(/[:*]\w+/g, ":");
const COMMANDS = new Map(GW_COMMANDS.map(([operation, line]) => [anyParameter(operation), line]));

/** The command of the operation; without one, `gw api`, which sends JSON. */
function gwLine({ method, path, auth, bodyType = "application/json" }: OperationDescription, request: SampleRequest): string | undefined {
  const command = COMMANDS.get(anyParameter(`${method.toUpperCase()} ${path}`));
  if (command !== undefined) return command;
  if (bodyType !== "application/json" || request.file) return undefined;
  const [bearer] = request.headers.filter(({ name }) => name === "Authorization");
  const others = request.headers.filter(({ variable }) => variable !== "TOKEN" && variable !== "KEY");
  const parts = [
    `gw api ${request.method} ${/[?&]/.test(request.path) ? shellWord(request.path) : request.path}`,
    ...credentialOption({ auth, path, bearer }),
    ...others.map(({ name, prefix, variable }) => `-H "${name}: ${prefix}$${variable}"`),
    ...(request.body === undefined ? [] : [`-d ${shellWord(JSON.stringify(request.body))}`]),
    ...(request.save ? [`> ${request.save}`] : []),
  ];
  return parts.join(" ");
}

/** `gw api` chooses the credential by the path. */
function credentialOption({ auth, path, bearer }: { auth: string; path: string; bearer: VariableHeader | undefined }): string[] {
  if (bearer?.variable === "TOKEN" && !/^\/(api|training)\//.test(path)) return ["--as user"];
  return auth === "none" && bearer !== undefined ? ["--as none"] : [];
}
