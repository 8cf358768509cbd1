import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { paramsOf } from "../../common/providers/shared/params.ts";
import type { ProviderOperation } from "../../common/providers/shared/provider-kind.ts";
import { PROVIDER_KINDS } from "../../common/providers/shared/registry.ts";
import { providers } from "../../gateway-edge/upstream/providers/registry.ts";
import { call } from "../helpers/api.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";

/** Models whose parameters differ within their kind, and one of every operation that has parameters. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  openai: [
    "gpt-4o",
    "o3",
    "gpt-5",
    "gpt-5-chat-latest",
    "gpt-4o-audio-preview",
    "text-embedding-3-small",
    "gpt-3.5-turbo-instruct",
    "whisper-1",
  ],
  azure: ["gpt-4o", "o3-mini", "ours", "text-embedding-ada-002"],
  anthropic: ["claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-4-7"],
  gemini: ["gemini-2.0-flash", "gemini-2.5-pro", "gemini-embedding-001"],
  vertex_ai: ["gemini-2.5-flash", "text-embedding-005"],
  bedrock: [
    "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "amazon.nova-pro-v1:0",
    "meta.llama3-1-8b-instruct-v1:0",
    "openai.gpt-oss-20b-1:0",
  ],
  cohere: ["command-r", "command-a-reasoning-08-2025", "embed-english-v3.0", "embed-v4.0", "rerank-v3.5"],
  mistral: ["mistral-large-latest", "magistral-medium-latest", "mistral-embed", "codestral-embed"],
  xai: ["grok-3-mini", "grok-4", "grok-2"],
  ollama: ["llama3.1", "nomic-embed-text"],
  vllm: ["llama", "bge-embed"],
  echo: ["echo"],
};
const modelsOf = (kind: string) => MODELS[kind] ?? ["some-model", "some-embed-model", "some-davinci-002"];
const nameOf = (kind: string, model: string) => `${kind}--${model}`.replaceAll(/[^\w.-]/g, "-");

let folder: string;
let system: System;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-params-"));
  const entries = PROVIDER_KINDS.flatMap(({ kind, prefixes: [prefix] }) =>
    modelsOf(kind).map((model) => {
      const params = `{model: "${prefix}/${model}", api_base: "http://127.0.0.1:9/v1", api_key: k, input_cost_per_token: 0}`;
      return `  - model_name: ${nameOf(kind, model)}\n    litellm_params: ${params}\n`;
    }),
  );
  const file = join(folder, "config.yaml");
  writeFileSync(file, `model_list:\n${entries.join("")}`);
  system = await startSystem({ env: { CONFIG: file } });
});
afterAll(async () => {
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("what /api/models says that a model takes is what the gateway's own lists say, for every kind of provider", async () => {
  const platform = new Map<string, string[]>();
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { body } = await call(system.url, "GET", `/api/models?pageSize=100&page=${page}`);
    pages = body.meta.totalPages;
    for (const { name, supportedParams } of body.data) platform.set(name, supportedParams.toSorted());
  }
  const groups = await call(system.url, "GET", "/model_group/info", { key: MASTER_KEY });
  const gateway = new Map<string, string[]>(
    groups.body.data.map((group: { model_group: string; supported_openai_params: string[] }) => [
      group.model_group,
      group.supported_openai_params.toSorted(),
    ]),
  );
  const names = PROVIDER_KINDS.flatMap(({ kind }) => modelsOf(kind).map((model) => nameOf(kind, model)));
  const listed = (lists: ReadonlyMap<string, string[]>) => Object.fromEntries(names.map((name) => [name, lists.get(name)]));
  expect(listed(platform)).toEqual(listed(gateway));
  for (const name of names.filter((_, index) => index % 7 === 0)) {
    const { body } = await call(system.url, "GET", `/utils/supported_openai_params?model=${name}`, { key: MASTER_KEY });
    expect([name, body.supported_openai_params.toSorted()]).toEqual([name, platform.get(name)]);
  }
  expect(platform.get("groq--some-model")).not.toContain("logprobs");
  expect(platform.get("openai--gpt-4o")).not.toContain("reasoning_effort");
  expect(platform.get("openai--o3")).toContain("reasoning_effort");
  expect(platform.get("cohere--command-r")).not.toContain("tool_choice");
});

const WITH_PARAMS = ["chat", "completions", "embeddings"] as const;
const OPERATIONS: readonly ProviderOperation[] = [
  ...WITH_PARAMS,
  ...(["moderations", "speech", "transcriptions", "translations", "images", "imageEdits", "rerank"] as const),
];

test.each(PROVIDER_KINDS)(
  "the adapter of $kind has the operations of the declaration, and takes the parameters that it names",
  (declaration) => {
    const adapter = providers.get(declaration.kind);
    expect(adapter?.kind).toBe(declaration.kind);
    expect(OPERATIONS.filter((operation) => adapter?.[operation])).toEqual(
      OPERATIONS.filter((operation) => declaration.operations.includes(operation)),
    );
    for (const model of modelsOf(declaration.kind)) {
      for (const operation of WITH_PARAMS.filter((each) => declaration.operations.includes(each))) {
        expect(adapter?.[operation]?.supportedParams(model)).toEqual(paramsOf(declaration, operation)(model));
      }
    }
  },
);
