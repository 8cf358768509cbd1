import { deployment, FakeControl, MASTER_KEY, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

let edge: TestEdge;
let control: FakeControl;

beforeEach(async () => {
  control = new FakeControl();
  control.deployments = [
    deployment({ modelName: "echo", info: JSON.stringify({ access_groups: ["basic"] }) }),
    deployment({ modelName: "echo", id: "dep_second" }),
    deployment({ modelName: "vendor/name" }),
    deployment({ modelName: "openai/*", id: "dep_wild", providerKind: "openai", inferenceModelId: "*" }),
    deployment({ modelName: "private", id: "dep_private", info: JSON.stringify({ team_id: "team_9" }) }),
  ];
  control.settings = JSON.stringify({
    router_settings: {
      fallbacks: [{ echo: ["vendor/name", "nothing"] }],
      context_window_fallbacks: [{ echo: ["openai/gpt-4o"] }],
      model_group_alias: { quick: "echo", secret: { model: "echo", hidden: true } },
    },
  });
  edge = await startEdge(control);
});
afterEach(() => edge.close());

interface Entry {
  id: string;
  object: string;
  created: number;
  owned_by: string;
  metadata?: { fallbacks: string[] };
}

async function list(query = "", key = MASTER_KEY): Promise<Entry[]> {
  const response = await fetch(`${edge.url}/v1/models${query}`, { headers: { "x-gw-api-key": key } });
  expect(response.status).toBe(200);
  const body = (await response.json()) as { object: string; data: Entry[] };
  expect(body.object).toBe("list");
  return body.data;
}

const names = async (query = "", key = MASTER_KEY) => (await list(query, key)).map(({ id }) => id);
const keyFor = (...models: string[]) => control.addKey({ models: { names: models }, role: "member" }).secret;
const get = (path: string, key = MASTER_KEY) => fetch(edge.url + path, { headers: { "x-gw-api-key": key } });

test("each name once, in a stable order, with its provider and time; a wildcard is what is known of its provider", async () => {
  const all = await names();
  expect(all.slice(0, 2)).toEqual(["echo", "vendor/name"]);
  expect(all).toContain("openai/gpt-4o");
  expect(all.at(-1)).toBe("quick");
  expect(new Set(all).size).toBe(all.length);
  expect(all).toEqual(await names());
  for (const hidden of ["openai/*", "secret", "private"]) expect(all).not.toContain(hidden);
  expect((await list())[0]).toEqual({ id: "echo", object: "model", created: 1767323045, owned_by: "echo" });
});

test("return_wildcard_routes adds the patterns, once; booleans are true, false, 1 and 0", async () => {
  for (const yes of ["true", "1", "True"]) {
    expect((await names(`?return_wildcard_routes=${yes}`)).filter((name) => name === "openai/*")).toEqual(["openai/*"]);
  }
  expect(await names("?return_wildcard_routes=0")).toEqual(await names());
  const bad = await get("/models?return_wildcard_routes=maybe&include_metadata=2");
  expect([bad.status, await bad.json()]).toEqual([
    422,
    {
      error: {
        message: "return_wildcard_routes: must be true, false, 1 or 0",
        type: "unprocessable_entity_error",
        param: "return_wildcard_routes",
        code: null,
      },
      detail: [
        { loc: ["query", "return_wildcard_routes"], msg: "must be true, false, 1 or 0", type: "value_error" },
        { loc: ["query", "include_metadata"], msg: "must be true, false, 1 or 0", type: "value_error" },
      ],
    },
  ]);
  expect((await get("/models?include_metadata=1&include_metadata=1")).status).toBe(422);
});

test("a key sees what its list has: names, prefixes, access groups, and names under a wildcard that no data know", async () => {
  expect(await names("", keyFor("echo"))).toEqual(["echo", "quick"]);
  expect(await names("", keyFor("basic"))).toEqual(["echo", "quick"]);
  expect(await names("", keyFor("openai/of-tomorrow", "gone"))).toEqual(["openai/of-tomorrow"]);
  const some = await names("", keyFor("openai/gpt-4o*"));
  expect(some).toContain("openai/gpt-4o-mini");
  expect(some.every((name) => name.startsWith("openai/gpt-4o"))).toBe(true);
});

test("access groups beside the models, or alone", async () => {
  expect(await names("?include_model_access_groups=true", keyFor("basic"))).toEqual(["echo", "quick", "basic"]);
  expect(await names("?include_model_access_groups=true", keyFor("echo"))).toEqual(["echo", "quick"]);
  expect(await names("?only_model_access_groups=true", keyFor("basic", "vendor/name"))).toEqual(["basic"]);
  expect(await names("?only_model_access_groups=true")).toEqual(["basic"]);
  expect(await names("?only_model_access_groups=true", keyFor("vendor/name"))).toEqual([]);
});

test("metadata has the fallbacks that the caller may use, of the type asked for", async () => {
  const first = async (query: string, key?: string) => (await list(query, key))[0]?.metadata;
  expect(await first("?include_metadata=true")).toEqual({ fallbacks: ["vendor/name"] });
  expect(await first("?include_metadata=true", keyFor("echo"))).toEqual({ fallbacks: [] });
  expect(await first("?include_metadata=true&fallback_type=context_window")).toEqual({ fallbacks: ["openai/gpt-4o"] });
  expect(await first("?fallback_type=general")).toBeUndefined();
});

test("a wrong scope or fallback_type is a 400 in both shapes", async () => {
  for (const [param, value] of [
    ["scope", "all"],
    ["fallback_type", "none"],
    ["scope", ""],
  ] as const) {
    const response = await get(`/v1/models?${param}=${value}`);
    const body = (await response.json()) as { error: { type: string; param: string }; detail: { loc: string[] }[] };
    expect([response.status, body.error.type, body.error.param]).toEqual([400, "invalid_request_error", param]);
    expect(body.detail[0]?.loc).toEqual(["query", param]);
  }
});

test("scope=expand shows everything to owners and admins, and changes nothing for others", async () => {
  const owner = control.addKey({ models: { names: ["echo"] }, role: "owner" }).secret;
  expect(await names("?scope=expand", owner)).toEqual(await names());
  expect(await names("?scope=expand", keyFor("echo"))).toEqual(["echo", "quick"]);
});

test("team_id: one's own team, any team for an admin; another's looks as if it did not exist", async () => {
  const own = control.addKey({ role: "member" }).secret;
  expect(await names("?team_id=team_1", own)).toEqual(await names("", own));
  expect(await names("?team_id=team_9")).toContain("private");
  control.teams.set("team_8", ["vendor/name"]);
  expect(await names("?team_id=team_8")).toEqual(["vendor/name"]);
  const narrow = control.addKey({ role: "member", models: { names: ["echo"] }, teamModels: { names: ["echo", "vendor/name"] } }).secret;
  expect(await names("", narrow)).toEqual(["echo", "quick"]);
  expect(await names("?team_id=team_1", narrow)).toEqual(["echo", "vendor/name", "quick"]);
  const response = await get("/v1/models?team_id=team_9", own);
  expect([response.status, ((await response.json()) as { error: { type: string } }).error.type]).toEqual([404, "not_found_error"]);
  expect(await names("", control.addKey({ teamId: "team_9" }).secret)).toContain("private");
});

test("one model: slashes raw or encoded, names under a wildcard, aliases; what the key may not use is absent", async () => {
  for (const path of [
    "/models/vendor/name",
    "/v1/models/vendor%2Fname",
    "/v1/models/openai/of-tomorrow",
    "/models/secret",
    "/models/echo",
  ]) {
    const response = await get(path);
    const { id } = (await response.json()) as Entry;
    expect([response.status, id]).toEqual([200, decodeURIComponent(path.replace(/^.*\/models\//, ""))]);
  }
  for (const [path, key] of [
    ["/v1/models/nope", MASTER_KEY],
    ["/v1/models/private", MASTER_KEY],
    ["/v1/models/dep_private", MASTER_KEY],
    ["/v1/models/vendor/name", keyFor("echo")],
    ["/v1/models/dep_vendor%2Fname", keyFor("echo")],
  ] as const) {
    const response = await get(path, key);
    expect([path, response.status, ((await response.json()) as { error: object }).error]).toMatchObject([
      path,
      404,
      { type: "not_found_error", code: "model_not_found" },
    ]);
  }
});

test("the team's list bounds the key's, whichever way either names the models", async () => {
  const seen = (models: string[] | undefined, teamModels: string[]) =>
    names("", control.addKey({ role: "member", models: models && { names: models }, teamModels: { names: teamModels } }).secret);
  expect(await seen(["basic", "vendor/name"], ["echo"])).toEqual(["echo", "quick"]);
  expect(await seen(["echo"], ["basic"])).toEqual(["echo", "quick"]);
  expect(await seen(["basic"], ["vendor/*"])).toEqual([]);
  expect(await seen(undefined, ["vendor/name"])).toEqual(["vendor/name"]);
  expect(await seen(["all-team-models"], ["vendor/name"])).toEqual(["vendor/name"]);
  expect(await seen(["all-proxy-models"], ["vendor/name"])).toEqual(["vendor/name"]);
  expect(await seen(["no-default-models"], ["vendor/name"])).toEqual([]);
});

test("a key with an access group sees and reaches only the deployments in it, not the rest of their group", async () => {
  const key = keyFor("basic");
  const ids = async (path: string) => ((await (await get(path, key)).json()) as { data: { model_info: { id: string } }[] }).data;
  expect((await ids("/model/info")).map(({ model_info }) => model_info.id)).toEqual(["dep_echo"]);
  expect((await get("/model/info?gw_model_id=dep_second", key)).status).toBe(404);
  expect((await get("/v1/models/dep_second", key)).status).toBe(404);
  const ask = (model: string) =>
    edge.post("/v1/chat/completions", { model, messages: [{ role: "user", content: "hi" }] }, { "x-gw-api-key": key });
  for (let call = 0; call < 12; call++) expect((await ask(call % 2 === 0 ? "echo" : "quick")).status).toBe(200);
  expect(new Set([...control.settled.values()].map(({ deploymentId }) => deploymentId))).toEqual(new Set(["dep_echo"]));
  for (const model of ["dep_second", "vendor/name", "openai/gpt-4o"]) expect((await ask(model)).status).toBe(403);
  expect((await ask("nothing")).status).toBe(404);
});

test("a group is asked for by a name that is shown: hidden aliases and ids of deployments have no entry", async () => {
  const groups = async (name: string) =>
    ((await (await get(`/model_group/info?model_group=${encodeURIComponent(name)}`)).json()) as { data: { model_group: string }[] }).data;
  for (const shown of ["echo", "quick", "openai/gpt-4o", "openai/*"]) {
    expect((await groups(shown)).map(({ model_group }) => model_group)).toEqual([shown]);
  }
  for (const hidden of ["secret", "dep_second", "private", "nothing"]) expect(await groups(hidden)).toEqual([]);
});
