import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gwWith } from "../../cli/io-fixture.ts";
import type { OpenApiDocument } from "../../gateway-edge/server/openapi.ts";
import { adminToken, call, chat, newTenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { root } from "./blocks.ts";
import { compileNode, compilePython, runCurl, runNode, runPython, type Sample, shellWords } from "./samples/run-samples.ts";

/** These are run in each language, in this order, with real IDs in place of those that stand for the reader's own. */
const RUN = [
  ...["post /api/auth/signup", "post /api/auth/token", "get /api/auth/me", "get /api/auth/sessions", "get /api/gw/organizations/list"],
  ...["get /api/gw/teams", "get /api/gw/teams/:id", "patch /api/gw/teams/:id", "post /api/gw/teams/invite-member"],
  ...["get /api/api-keys", "post /api/gw/api-keys", "post /api/api-keys/update", "post /api/api-keys/rotate", "post /api/api-keys/remove"],
  ...[
    "get /api/balance",
    "get /api/quota",
    "post /api/credits/purchase",
    "get /api/credits/purchases",
    "get /api/credits/purchases/:id/receipt",
  ],
  ...["get /api/credits/ledger", "get /api/gw/logs", "get /api/gw/logs/:id", "get /api/gw/logs/:id/receipt", "get /api/gw/usage"],
  ...[
    "post /api/gw/teams",
    "get /api/models",
    "get /api/providers",
    "get /training/federations",
    "get /training/strategies",
    "get /training/models",
  ],
  ...["post /v1/chat/completions", "post /chat/completions", "post /engines/:model/chat/completions", "post /v1/completions"],
  ...[
    "post /v1/embeddings",
    "post /v1/moderations",
    "post /v1/audio/speech",
    "post /v1/audio/transcriptions",
    "post /v1/audio/translations",
  ],
  ...["post /v1/images/generations", "post /v1/images/edits", "post /v1/rerank", "post /v2/rerank", "get /v1/models", "get /v1/models/:id"],
  ...["get /v1/model/info", "get /v1/model_group/info", "post /v1/utils/token_counter", "get /v1/utils/supported_openai_params"],
  ...["post /v1/utils/transform_request", "post /v1/messages", "post /v1/messages/count_tokens", "post /v1/responses"],
  ...["get /v1/responses/:response_id", "get /v1/responses/:response_id/input_items", "delete /v1/responses/:response_id"],
  ...["post /v1/files", "get /v1/files", "get /v1/files/:file_id", "get /v1/files/:file_id/content", "post /v1/batches", "get /v1/batches"],
  ...["post /v1/conversations", "get /v1/conversations/:conversation_id", "post /v1/conversations/:conversation_id/items"],
  ...["post /v1/prompts", "get /v1/prompts", "post /v1/assistants", "get /v1/assistants", "post /v1/threads", "post /v1/vector_stores"],
];

/** What the built-in provider serves under the names of the samples. */
const MODELS = {
  "text-embedding-3-small": "embedding",
  "omni-moderation-latest": "moderation",
  "tts-1": "audio_speech",
  "whisper-1": "audio_transcription",
  "gpt-image-1": "image_generation",
  "rerank-v3.5": "rerank",
};

/** With the packages of the samples; another one only compiles them. */
const withPackages = process.env["TEST_PYTHON"];
const python = withPackages ?? "python3";
const REQUEST = { custom_id: "1", method: "POST", url: "/v1/chat/completions", body: { model: "echo", messages: [] } };
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let folder: string;
let system: System;
let samples: ReadonlyMap<string, readonly Sample[]>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-samples-"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const rows = Object.entries(MODELS).map(
    ([name, mode]) =>
      `  - {model_name: ${name}, litellm_params: {model: echo/${name}}, model_info: {mode: ${mode}, input_cost_per_token: 0.000001}}\n`,
  );
  writeFileSync(join(folder, "config.yaml"), `model_list:\n${rows.join("")}`);
  writeFileSync(join(folder, "requests.jsonl"), `${JSON.stringify(REQUEST)}\n`);
  writeFileSync(join(folder, "river.png"), Buffer.from(PNG, "base64"));
  system = await startSystem({ env: { CONFIG: join(folder, "config.yaml") } });
  const document: OpenApiDocument = (await call(system.url, "GET", "/openapi.json")).body;
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, entry]) => {
      const operation = `${method} ${path.replace(/\{(\w+)\}/g, ":$1")}`;
      return entry["x-codeSamples"].map(({ label, source }) => ({ label, operation, source }));
    }),
  );
  samples = Map.groupBy(all, ({ label }) => label);
});
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const of = (label: string): readonly Sample[] => samples.get(label) ?? [];
const place = (env: Readonly<Record<string, string>> = {}) => ({ folder, python, env });
const OPTIONS = new Set(["-s", "-sN", "-si", "-X", "-H", "-d", "-F", "-o", "--data-binary", "--data-urlencode", "--http1.1", "--max-time"]);
const WITHOUT_VALUE = new Set(["-s", "-sN", "-si", "--http1.1"]);

test("every sample of every operation is a program of its language", async () => {
  expect(of("Python").length).toBeGreaterThan(300);
  expect(await compilePython(of("Python"), place())).toEqual([]);
  expect(await compileNode(of("Node"), place())).toEqual([]);
});

test("every sample of curl is one address and options of curl, and every one of gw one command", async () => {
  const curl = await shellWords(
    of("curl"),
    place({ B: "http://gateway", KEY: "k", TOKEN: "t", JOIN_TOKEN: "j", COOKIE: "c", STRIPE_SIGNATURE: "s" }),
  );
  const wrong = [...curl].filter(([, words]) => {
    const plain = words.filter((word, index) => !OPTIONS.has(word) && (index === 0 || !takesValue(words[index - 1])));
    return plain.length !== 1 || !plain[0]?.startsWith("http://gateway/");
  });
  expect(wrong).toEqual([]);
  const gw = await shellWords(of("gw"), place({ B: "b", JOIN_TOKEN: "j", COOKIE: "c", STRIPE_SIGNATURE: "s" }));
  // The help of gw has the other lines, and a test of it parses them.
  const requests = [...gw.values()].filter(([command]) => command === "api");
  expect([...gw.values()].filter((words) => words.length === 0)).toEqual([]);
  expect(requests.filter(([, method = "", path = ""]) => !/^(GET|POST|PUT|PATCH|DELETE)$/.test(method) || !path.startsWith("/"))).toEqual(
    [],
  );
  const bodies = requests.flatMap((words) => words.slice(words.indexOf("-d") + 1).slice(0, words.includes("-d") ? 1 : 0));
  expect(bodies.length).toBeGreaterThan(50);
  for (const body of bodies) expect(JSON.parse(body)).toBeInstanceOf(Object);
});

const takesValue = (word: string | undefined): boolean => word !== undefined && OPTIONS.has(word) && !WITHOUT_VALUE.has(word);

test.each([["curl", runCurl], ["Node", runNode], ...(withPackages === undefined ? [] : [["Python", runPython] as const])] as const)(
  "what the reference shows for %s works, sample by sample",
  async (label, run) => {
    const { env, placed } = await reader(label);
    const chosen = RUN.map((operation) => of(label).find((sample) => sample.operation === operation) ?? missing(operation));
    const results = await run(
      chosen.map(({ operation, source }) => ({ operation, source: placed(source) })),
      place(env),
    );
    expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
    // What is saved to a file prints nothing.
    const silent = results.filter(({ operation, output }) => output.trim() === "" && operation !== "post /v1/audio/speech");
    expect([results.length, silent]).toEqual([RUN.length, []]);
  },
);

if (withPackages === undefined) {
  test("without a Python there is a loud line, and a failure where CI is set", () => {
    const message = "NO PYTHON: the samples of the reference for Python do not run. Set TEST_PYTHON, or use `make test`.";
    process.stderr.write(`${message}\n`);
    if (process.env["CI"]) throw new Error(message);
    expect(message).toContain("NO PYTHON");
  });
}

test("what the reference shows for gw works, sample by sample", async () => {
  const { env, placed } = await reader("gw");
  const offered = of("gw").filter(
    ({ operation }) => RUN.includes(operation) && operation !== "post /api/auth/signup" && operation !== "post /api/auth/token",
  );
  const ordered = offered.toSorted((left, right) => RUN.indexOf(left.operation) - RUN.indexOf(right.operation));
  const words = await shellWords(
    ordered.map(({ operation, source }) => ({ operation, source: placed(source) })),
    place(env),
  );
  const failed = [];
  for (const [operation, line] of words) {
    const { exit, err } = await gwWith([...line, "--yes"], {
      env: { GW_API_URL: system.url, GW_TOKEN: env["TOKEN"] ?? "", GW_API_KEY: env["KEY"] ?? "", XDG_CONFIG_HOME: folder },
    });
    if (exit !== 0) failed.push({ operation, line, err });
  }
  expect(failed).toEqual([]);
  expect(words.size).toBeGreaterThan(50);
});

/** A tenant, its variables, and the IDs of what it has in place of those of the samples. */
async function reader(label: string) {
  const { url } = system;
  const tenant = await newTenant(system, { name: `reader-${label.toLowerCase()}`, creditNano: 5_000_000_000 });
  const { token, key } = tenant;
  const made = async (path: string, body: object, by: object = { key }) => (await call(url, "POST", path, { ...by, body })).body;
  const spare = await made("/api/gw/api-keys", { name: "spare", team_id: tenant.teamId }, { token });
  const purchases = await call(url, "GET", "/api/credits/purchases", { token });
  const spoken = await chat(system, key, "hello");
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob([`${JSON.stringify(REQUEST)}\n`]), "requests.jsonl");
  const upload = await fetch(`${url}/v1/files`, { method: "POST", headers: { authorization: `Bearer ${key}` }, body: form });
  const ids: Readonly<Record<string, string>> = {
    key_1m7f9j68gd: spare.apiKey.id,
    team_1m7f9hztem: tenant.teamId,
    call_1m7f97skhg: spoken.headers.get("x-gw-call-id") ?? "",
    pur_1m7f9j33n3: purchases.body.data[0].id,
    resp_1m7f9j: (await made("/v1/responses", { model: "echo", input: "hello", store: true })).id,
    conv_1m7f9j: (await made("/v1/conversations", {})).id,
    "file-1m7f9j": ((await upload.json()) as { id: string }).id,
    "ada@example.org": `ada.${label.toLowerCase()}@example.org`,
    "bob@example.org": `bob.${label.toLowerCase()}@example.org`,
  };
  const placed = (source: string) => Object.entries(ids).reduce((text, [shown, real]) => text.replaceAll(shown, real), source);
  await untilLogged(token, ids["call_1m7f97skhg"] ?? "");
  return { env: { B: url, KEY: key, TOKEN: token }, placed };
}

async function untilLogged(token: string, callId: string): Promise<void> {
  while ((await call(system.url, "GET", `/api/gw/logs/${callId}`, { token })).status !== 200) expect(await adminToken(system)).toBeTruthy();
}

function missing(operation: string): never {
  throw new Error(`the reference has no sample of ${operation}`);
}
