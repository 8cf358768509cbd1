import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { silentLogger } from "../../../../common/logger.ts";
import { ClientParams } from "../../../upstream/client-params.ts";
import { type ClientParamsEdge, type Listed, STORED, startWithClientParams } from "./client-params-fixture.ts";
import { USER_TOKEN } from "./edge-fixture.ts";

const opened: ClientParamsEdge[] = [];
afterEach(() => Promise.all(opened.splice(0).map((each) => each.close())));

async function open(deployments: readonly Listed[], options?: Parameters<typeof startWithClientParams>[1]): Promise<ClientParamsEdge> {
  const started = await startWithClientParams(deployments, options);
  opened.push(started);
  return started;
}

const ALL = ["api_base", "api_key", "api_version"];
const OWN_KEY = "sk-client-own-77aa";
const messages = [{ role: "user", content: "hi" }];
const CHAT = "/v1/chat/completions";
const ask = (more: object = {}, model = "m") => ({ model, messages, ...more });
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; param: string; code: string } }).error;
const refused = (param: string) => ({
  message: `The parameter ${param} is not accepted from clients.`,
  type: "invalid_request_error",
  param,
  code: "unsupported_parameter",
});
const chatIn = (base: string, more: object = {}) => ask({ api_base: base, api_key: OWN_KEY, ...more });

describe("where a client's call goes, and with what", () => {
  test.each([
    ["/v1/chat/completions", { messages }],
    ["/v1/chat/completions", { messages, n: 2, temperature: 0 }],
    ["/v1/completions", { prompt: "hi" }],
    ["/v1/embeddings", { input: "hi" }],
    ["/v1/responses", { input: "hi" }],
    ["/v1/messages", { messages, max_tokens: 9 }],
    ["/v1/moderations", { input: "hi" }],
    ["/v1/images/generations", { prompt: "hi" }],
    ["/v1/audio/speech", { input: "hi", voice: "alloy" }],
    ["/openai/deployments/m/chat/completions", { messages }],
  ])("%s at a client's address: nothing of the operator is sent there, with a key of the client and without", async (path, body) => {
    const { post, operators, clients } = await open([{ modelName: "m", listed: ALL }]);
    for (const own of [{ api_key: OWN_KEY }, {}]) {
      expect((await post(path, { model: "m", ...body, api_base: clients.base, ...own })).status).toBe(200);
      const visit = clients.visits.at(-1);
      expect(visit?.headers.authorization).toBe("api_key" in own ? `Bearer ${OWN_KEY}` : undefined);
      expect(JSON.parse(visit?.body ?? "")).toMatchObject({ model: "gpt-x" });
    }
    const seen = JSON.stringify(clients.visits);
    for (const secret of Object.values(STORED)) expect(seen).not.toContain(secret);
    for (const { body: sent } of clients.visits) expect(sent).not.toMatch(/api_base|api_key|sk-client/);
    expect(operators.visits).toEqual([]);
  });

  test.each([
    ["anthropic", "/messages", "x-api-key"],
    ["azure", "/openai/deployments/gpt-x/chat/completions?api-version=2025-01-01", "api-key"],
    ["gemini", "/models/gpt-x:generateContent", "x-goog-api-key"],
    ["cohere", "/v2/chat", "authorization"],
    ["ollama", "/api/chat", "authorization"],
    ["mistral", "/chat/completions", "authorization"],
    ["openrouter", "/chat/completions", "authorization"],
  ])("%s at a client's address has the client's key alone", async (providerKind, path, header) => {
    const more = { azure_ad_token: STORED.key, auth_token: STORED.key };
    const { post, operators, clients } = await open([{ modelName: "m", providerKind, listed: ALL, more }]);
    await post(CHAT, chatIn(clients.base, { api_version: "2025-01-01" }));
    await post(CHAT, ask({ api_base: clients.base }));
    const [withKey, without] = clients.visits;
    expect(withKey?.url).toMatch(new RegExp(`${path.replace(/[?.]/g, "\\$&")}$`));
    expect(String(withKey?.headers[header]).replace("Bearer ", "")).toBe(OWN_KEY);
    expect(without?.headers[header]).toBeUndefined();
    for (const secret of Object.values(STORED)) expect(JSON.stringify(clients.visits)).not.toContain(secret);
    expect(operators.visits).toEqual([]);
  });

  test("POST /api/gw/messages takes them too, beside the apiKey of the platform", async () => {
    const { edge, clients, operators } = await open([{ modelName: "m", listed: ALL }]);
    const { secret } = edge.control.addKey();
    const headers = { authorization: `Bearer ${USER_TOKEN}` };
    expect((await edge.post("/api/gw/messages", { ...chatIn(clients.base), apiKey: secret }, headers)).status).toBe(200);
    expect([clients.visits[0]?.headers.authorization, operators.visits.length]).toEqual([`Bearer ${OWN_KEY}`, 0]);
    expect(JSON.stringify(clients.visits)).not.toContain(secret);
  });

  test("a client's key at the deployment's own address stands in for the stored one and for what belongs to that", async () => {
    const { post, operators, control } = await open([
      { modelName: "m", listed: ["api_key"] },
      { modelName: "az", providerKind: "azure", listed: ["api_key"], more: { azure_ad_token: STORED.key } },
    ]);
    expect((await post(CHAT, ask({ api_key: OWN_KEY }))).status).toBe(200);
    expect((await post(CHAT, ask({ api_key: OWN_KEY }, "az"))).status).toBe(200);
    const [openai, azure] = operators.visits.map(({ headers }) => headers);
    expect([openai?.authorization, azure?.["api-key"], azure?.authorization]).toEqual([`Bearer ${OWN_KEY}`, OWN_KEY, undefined]);
    expect([openai?.["openai-organization"], openai?.["openai-project"], openai?.["x-operator"]]).toEqual([
      undefined,
      undefined,
      STORED.header,
    ]);
    expect(JSON.stringify(operators.visits)).not.toContain(STORED.key);
    // Billed as the deployment is.
    expect(control.made.map(({ cost, usage }) => [cost, usage?.total])).toEqual([
      [7_000n, 5n],
      [7_000n, 5n],
    ]);
  });

  test("only deployments that list all parameters are candidates, and a fallback without one is not used", async () => {
    const { post, operators, clients } = await open(
      [
        { id: "a", modelName: "m" },
        { id: "b", modelName: "m", listed: ["api_key"] },
        { id: "c", modelName: "m", listed: ["api_key", "api_base"] },
        { id: "d", modelName: "closed" },
        { id: "e", modelName: "last", listed: ["api_key", "api_base"], inferenceModelId: "last-x" },
      ],
      { settings: { router_settings: { num_retries: 0, fallbacks: [{ m: ["closed", "last"] }] } } },
    );
    for (let call = 0; call < 12; call++) {
      expect((await post(CHAT, chatIn(clients.base))).headers.get("x-gw-model-id")).toBe("c");
      expect(["b", "c"]).toContain((await post(CHAT, ask({ api_key: OWN_KEY }))).headers.get("x-gw-model-id"));
    }
    expect(operators.visits.every(({ headers }) => headers.authorization === `Bearer ${OWN_KEY}`)).toBe(true);
    operators.visits.length = 0;
    clients.visits.length = 0;
    clients.answer = { status: 500, body: {} };
    const failed = await post(CHAT, { ...chatIn(clients.base), fallbacks: ["closed"] });
    expect([failed.status, operators.visits.length]).toEqual([503, 0]);
    expect(clients.visits.map(({ body }) => (JSON.parse(body) as { model: string }).model)).toEqual(["gpt-x", "last-x"]);
  });
});

describe("what is refused", () => {
  test("a parameter that no deployment of the model lists, as for models that list none; nothing is reserved or called", async () => {
    const { post, operators, clients, control } = await open([
      { modelName: "closed" },
      { modelName: "m", listed: ["api_key", { api_base: "https://[a-z]+[.]example/v1" }] },
      { modelName: "unreadable", listed: ["api_key", { api_base: "(" }] },
      { modelName: "bed", providerKind: "bedrock", listed: ["api_key"] },
    ]);
    const cases: [object, string][] = [
      [ask({ api_key: OWN_KEY }, "closed"), "api_key"],
      [chatIn(clients.base, { model: "closed" }), "api_base"],
      [ask({ api_version: "1" }), "api_version"],
      [chatIn("https://api.example/v1", { api_version: "1" }), "api_version"],
      [chatIn(clients.base), "api_base"],
      [chatIn("https://api.example/v1.evil"), "api_base"],
      [chatIn("https://evil/https://api.example/v1"), "api_base"],
      [ask({ api_key: 7 }), "api_key"],
      [ask({ api_key: OWN_KEY, custom_llm_provider: "groq" }), "custom_llm_provider"],
      [ask({ api_key: OWN_KEY, base_url: "https://api.example/v1" }), "base_url"],
      [ask({ api_key: OWN_KEY }, "unreadable"), "api_key"],
      [ask({ api_key: OWN_KEY }, "bed"), "api_key"],
    ];
    for (const [body, param] of cases) {
      const response = await post(CHAT, body);
      expect([response.status, await errorOf(response)]).toEqual([400, refused(param)]);
    }
    expect([operators.visits, clients.visits, control.reserved]).toEqual([[], [], []]);
  });

  test("an address that is not plainly one, and a key that cannot be a header", async () => {
    const { post, operators, clients } = await open([{ modelName: "m", listed: ALL }]);
    const host = clients.base.slice("http://".length);
    const addresses = ["ftp://a.example", "a.example", `http://user:pass@${host}`, `${clients.base}?x=1`, `${clients.base}#x`];
    const odd = [
      `http://a.example\\@${host}`,
      `http://a .example`,
      "http://",
      "",
      `http://a.example/${"x".repeat(512)}`,
      "http://ä.example",
    ];
    for (const address of [...addresses, ...odd]) {
      const response = await post(CHAT, ask({ api_base: address }));
      expect([address, response.status, (await errorOf(response)).param]).toEqual([address, 400, "api_base"]);
    }
    for (const key of ["", "a b", "a\r\nx-evil: 1", "ä"]) expect((await post(CHAT, ask({ api_key: key }))).status).toBe(400);
    expect((await post(CHAT, ask({ api_version: "1/../2" }))).status).toBe(400);
    expect([operators.visits, clients.visits]).toEqual([[], []]);
  });

  test("what is stored for later, comes in a form, or makes no call", async () => {
    const { post, operators, clients, edge } = await open([{ modelName: "m", listed: ALL }]);
    const own = { api_key: OWN_KEY };
    const bodies: [string, object][] = [
      ["/v1/responses", { model: "m", input: "hi", background: true, ...own }],
      ["/v1/messages/count_tokens", { model: "m", messages, ...own }],
      ["/v1/assistants", { model: "m", ...own }],
      ["/v1/batches", { input_file_id: "f", endpoint: CHAT, completion_window: "24h", ...own }],
      ["/utils/token_counter", { model: "m", prompt: "hi", ...own }],
    ];
    for (const [path, body] of bodies) {
      const response = await post(path, body);
      expect([path, response.status, JSON.stringify(await response.json()).includes("api_key")]).toEqual([path, 400, true]);
    }
    const form = new FormData();
    form.set("model", "m");
    form.set("api_key", OWN_KEY);
    form.set("file", new Blob(["x"]), "x.wav");
    const { headers } = await post(CHAT, ask());
    expect(headers.get("x-gw-model-id")).toBe("dep_m");
    operators.visits.length = 0;
    const { secret } = edge.control.addKey();
    const sent = await fetch(`${edge.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}` },
      body: form,
    });
    expect(sent.status).toBe(400);
    expect([operators.visits, clients.visits]).toEqual([[], []]);
  });

  test.each(["http1", "undici"])(
    "%s: exposed, a private address, also that of a deployment, and a name that resolves to one",
    async (transport) => {
      const env = { TRUST_PROXY: "10.0.0.1", UPSTREAM_TRANSPORT: transport };
      const { post, operators, clients } = await open([{ modelName: "m", listed: ALL }], { env });
      // The configuration file names a private address: the operator's own calls go there.
      expect((await post(CHAT, ask())).status).toBe(200);
      expect(operators.visits).toHaveLength(1);
      const bases = [clients.base, operators.base].flatMap((base) => [base, base.replace("127.0.0.1", "localhost")]);
      for (const base of [...bases, "http://169.254.169.254/latest"]) {
        const response = await post(CHAT, chatIn(base));
        expect([base, response.status, (await errorOf(response)).param]).toEqual([base, 400, "api_base"]);
      }
      expect([operators.visits.length, clients.visits.length]).toEqual([1, 0]);
    },
  );
});

describe("what others notice", () => {
  test("a client's call neither reads nor fills the cache", async () => {
    const { post, operators, clients } = await open([{ modelName: "m", listed: ALL }], { settings: { litellm_settings: { cache: true } } });
    for (let call = 0; call < 2; call++) expect((await post(CHAT, chatIn(clients.base))).status).toBe(200);
    expect([clients.visits.length, operators.visits.length]).toEqual([2, 0]);
    for (let call = 0; call < 2; call++) await post(CHAT, ask());
    expect(operators.visits).toHaveLength(1);
    const again = await post(CHAT, chatIn(clients.base));
    expect([again.headers.get("x-gw-cache-key"), clients.visits.length]).toEqual([null, 3]);
    await post(CHAT, ask({ api_key: OWN_KEY }));
    expect(operators.visits).toHaveLength(2);
  });

  test.each([401, 403, 404, 429, 500])("failures with %s say nothing about the deployment", async (status) => {
    const settings = { router_settings: { num_retries: 0, allowed_fails: 0, cooldown_time: 60 } };
    const azure = { providerKind: "azure", listed: ALL };
    const { post, operators, clients, edge } = await open(
      [
        { modelName: "m", listed: ALL },
        { modelName: "az", ...azure },
      ],
      { settings },
    );
    clients.answer = { status, body: { error: { message: "no" } } };
    operators.answer = clients.answer;
    for (let call = 0; call < 6; call++) {
      for (const body of [chatIn(clients.base), ask({ api_key: OWN_KEY }), ask({ api_version: "2025-01-01" }, "az")]) {
        expect((await post(CHAT, body)).ok).toBe(false);
      }
    }
    expect([clients.visits.length, operators.visits.length]).toEqual([6, 12]);
    operators.answer = undefined;
    for (const model of ["m", "az"]) {
      const state = edge.inference.routing.stateOf(`dep_${model}`);
      expect([state?.failed ?? 0, state?.availability.state ?? "closed", state?.inFlight ?? 0]).toEqual([0, "closed", 0]);
      expect((await post(CHAT, ask({}, model))).status).toBe(200);
    }
    expect(
      edge.inference
        .figures()
        .calls.flatMap(({ upstreamErrors }) => upstreamErrors)
        .filter((count) => count > 0),
    ).toEqual([]);
  });

  test("a client's call is made while the deployment cools down for others, and counts for no latency", async () => {
    const settings = { router_settings: { num_retries: 0, allowed_fails: 0, cooldown_time: 60 } };
    const { post, operators, clients, edge } = await open([{ modelName: "m", listed: ALL }], { settings });
    operators.answer = { status: 500, body: {} };
    for (let call = 0; call < 3; call++) await post(CHAT, ask());
    const before = edge.inference.routing.stateOf("dep_m");
    expect(before?.availability.state).toBe("open");
    expect((await post(CHAT, chatIn(clients.base))).status).toBe(200);
    const after = edge.inference.routing.stateOf("dep_m");
    expect([after?.succeeded, after?.wholeLatency, after?.requestsThisMinute]).toEqual([
      before?.succeeded,
      before?.wholeLatency,
      before?.requestsThisMinute,
    ]);
  });
});

describe("a client's key", () => {
  test.each([401, 403])("that the provider refuses with %s is the client's mistake, a 400", async (status) => {
    const { post, clients } = await open([{ modelName: "m", listed: ALL }]);
    clients.answer = { status, body: { error: { message: "bad key" } } };
    const answer = await post(CHAT, chatIn(clients.base));
    expect([answer.status, await errorOf(answer)]).toMatchObject([
      400,
      { message: "The provider refused the api_key of the request.", param: "api_key" },
    ]);
    const without = await post(CHAT, ask({ api_base: clients.base }));
    expect([without.status, (await errorOf(without)).message]).toEqual([400, "The server at api_base wants an api_key."]);
  });

  test("is in no answer, row, stored content, log line or reservation, also where the upstream repeats it", async () => {
    // Without the form of a key, which error texts are searched for anyway.
    const ODD_KEY = "own-words";
    const own = { api_key: ODD_KEY };
    const lines: unknown[] = [];
    const spies = (["debug", "info", "warn", "error"] as const).map((level) =>
      jest.spyOn(silentLogger, level).mockImplementation((...given) => void lines.push(given)),
    );
    const settings = { litellm_settings: { cache: true }, guardrails: [] };
    const { post, clients, control } = await open([{ modelName: "m", listed: ALL }], { settings, caller: { logContent: true } });
    const answers: string[] = [];
    for (const status of [400, 401, 422, 429, 500, 503]) {
      clients.answer = { status, body: { error: { message: `key ${ODD_KEY} at ${status}`, code: ODD_KEY } } };
      for (const [path, body] of [
        [CHAT, chatIn(clients.base, own)],
        [CHAT, chatIn(clients.base, { ...own, stream: true })],
        ["/v1/responses", { model: "m", input: "hi", api_base: clients.base, api_key: ODD_KEY }],
      ] as const) {
        answers.push(await (await post(path, body, { "idempotency-key": `${status}-${answers.length}` })).text());
      }
    }
    const delta = { choices: [{ index: 0, delta: { content: "begun" } }] };
    const frames = [delta, { error: { message: `broken by ${ODD_KEY}`, type: "invalid_request_error" } }];
    clients.answer = { status: 200, body: frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("") };
    const broken = await (await post(CHAT, chatIn(clients.base, { ...own, stream: true }))).text();
    expect([broken.includes("begun"), broken.includes(`"error"`), broken.includes(ODD_KEY)]).toEqual([true, true, false]);
    answers.push(broken);
    clients.answer = undefined;
    expect((await post(CHAT, chatIn(clients.base, own))).status).toBe(200);
    await post(CHAT, ask({ api_key: ODD_KEY, temperature: "hot" }));
    const last = await post("/v1/responses", { model: "m", input: "hi", api_base: clients.base, api_key: ODD_KEY });
    // Content is sent to the control plane a moment after its call, in the order of the calls.
    const lastId = last.headers.get("x-gw-call-id");
    for (let waitedMs = 0; waitedMs < 5000 && !control.contents.some(({ callId }) => callId === lastId); waitedMs += 10) await delay(10);
    expect(clients.visits.length).toBeGreaterThan(19);
    const kept = inspect([answers, control.settled, control.contents, control.reserved, control.intents, control.stored, lines], {
      depth: 12,
      maxArrayLength: null,
      maxStringLength: null,
    });
    for (const spy of spies) spy.mockRestore();
    expect(lines.length).toBeGreaterThan(0);
    expect(control.contents.map(({ callId }) => callId)).toContain(lastId);
    expect(kept.includes("key [api_key] at 400")).toBe(true);
    expect(kept.includes(ODD_KEY)).toBe(false);
  });

  test("is hidden where the parameters are shown, and in transform_request", async () => {
    const params = new ClientParams({ api_base: "https://a.example", api_key: OWN_KEY });
    expect(`${inspect(params, { depth: 9, showHidden: true })}${JSON.stringify(params)}${String(params)}`).not.toContain(OWN_KEY);
    const { post, clients, operators } = await open([{ modelName: "m", listed: ALL }]);
    const shown = await post("/utils/transform_request", { call_type: "completion", request_body: chatIn("https://a.example/v1") });
    const text = await shown.text();
    expect(JSON.parse(text)).toMatchObject({ raw_request_api_base: "https://a.example/v1/chat/completions" });
    for (const secret of [OWN_KEY, ...Object.values(STORED)]) expect(text).not.toContain(secret);
    const closed = await open([{ modelName: "m" }]);
    const no = await closed.post("/utils/transform_request", { call_type: "completion", request_body: ask({ api_key: OWN_KEY }) });
    expect([no.status, await errorOf(no)]).toEqual([400, refused("api_key")]);
    expect([operators.visits, clients.visits]).toEqual([[], []]);
  });
});
