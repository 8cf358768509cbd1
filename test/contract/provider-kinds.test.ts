import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PROVIDER_KINDS } from "../../common/providers/shared/registry.ts";
import { UPSTREAM_ROWS } from "../../gateway-edge/calls/pass-through/upstreams.ts";
import { providers } from "../../gateway-edge/upstream/providers/registry.ts";
import { openSession } from "../cli/session.ts";
import { call } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";

const KINDS = PROVIDER_KINDS.map(({ kind }) => kind);
const PREFIXES = PROVIDER_KINDS.flatMap(({ kind, prefixes }) => prefixes.map((prefix) => [prefix, kind] as const));

let folder: string;
let system: System;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-kinds-"));
  const entries = PREFIXES.map(([prefix, kind]) => {
    const needsBaseUrl = PROVIDER_KINDS.some((each) => each.kind === kind && each.needsBaseUrl);
    const address = needsBaseUrl ? ", api_base: http://127.0.0.1:9" : "";
    return `  - {model_name: via-${prefix}, litellm_params: {model: ${prefix}/some-model, input_cost_per_token: 0${address}}}\n`;
  });
  const file = join(folder, "config.yaml");
  writeFileSync(file, `model_list:\n${entries.join("")}`);
  system = await startSystem({ env: { CONFIG: file } });
});
afterAll(async () => {
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the API and the CLI list the declared kinds", async () => {
  const { body } = await call(system.url, "GET", "/api/provider-kinds");
  expect(body.data).toEqual(
    PROVIDER_KINDS.map(({ kind, displayName, prefixes, environment, baseUrl = null, needsBaseUrl = false, operations }) => ({
      ...{ kind, name: displayName, prefixes, environment, baseUrl, needsBaseUrl, operations },
    })),
  );
  const session = openSession(system.url);
  expect((await session.json("providers kinds")).data).toEqual(body.data);
  session.close();
});

test("the OpenAPI document names the declared kinds, and those with a pass-through route", async () => {
  const { body } = await call(system.url, "GET", "/openapi.json");
  const { kind } = body.paths["/api/admin/providers"].post.requestBody.content["application/json"].schema.properties;
  expect(kind.enum).toEqual(KINDS);
  const [provider] = body.paths["/{provider}/{path}"].get.parameters;
  expect(provider.schema.enum).toEqual(UPSTREAM_ROWS.map((row) => row.kind));
  expect(KINDS).toEqual(expect.arrayContaining(provider.schema.enum));
});

test("a configuration file may use every prefix, and edges find an adapter under each", async () => {
  const found = new Map<string, string>();
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { body } = await call(system.url, "GET", `/api/models?search=via-&pageSize=100&page=${page}`);
    pages = body.meta.totalPages;
    for (const { name, provider } of body.data) found.set(name.slice("via-".length), provider.name);
  }
  expect([...found].sort()).toEqual(PREFIXES.toSorted());
  expect([...providers].map(([name, { kind }]) => [name, kind])).toEqual(PREFIXES);
});

test("no other file of a room lists the kinds", () => {
  const root = resolve(import.meta.dirname, "../..");
  const files = ["gateway-edge", "control-plane", "cli", "console/src"].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
      .filter((name) => /(?<!\.test|-fixture)\.tsx?$/.test(name))
      .map((name) => join(room, name)),
  );
  const lists = files.filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return KINDS.filter((kind) => text.includes(`"${kind}"`)).length > 3;
  });
  expect(files.length).toBeGreaterThan(500);
  expect(lists).toEqual([]);
});
