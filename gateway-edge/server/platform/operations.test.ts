import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import { OpenCalls } from "../../calls/open-calls.ts";
import { readEdgeConfig } from "../../config.ts";
import { createMemoryRecords } from "../../stored/records/memory-records-fixture.ts";
import { openApiDocument } from "../openapi.ts";
import { fakeControlPlane } from "./control-plane-fixture.ts";
import { docsPage } from "./docs-page.ts";
import { platformOperations } from "./operations.ts";

const { control } = fakeControlPlane({});
const records = createMemoryRecords({ clock: systemClock });
const deps = {
  config: readEdgeConfig({}),
  control,
  records,
  clock: systemClock,
  random: systemRandom,
  openCalls: new OpenCalls(),
  logger: silentLogger,
};
const operations = platformOperations(deps);
const document = openApiDocument(operations);

const DOCUMENTED = [
  "post /api/auth/token",
  "post /api/auth/token/refresh",
  "get /api/auth/me",
  "get /api/models",
  "get /api/providers",
  "get /api/api-keys",
  "post /api/gw/api-keys",
  "post /api/api-keys/update",
  "post /api/api-keys/remove",
  "get /api/gw/organizations/list",
  "put /api/gw/organizations",
  "get /api/gw/teams",
  "post /api/gw/teams",
  "get /api/gw/teams/:id",
  "post /api/gw/teams/invite-member",
  "post /api/gw/teams/remove-member",
  "get /api/balance",
  "get /api/quota",
  "get /api/gw/logs",
];

test("every operation of the document is in the table, and none twice", () => {
  const names = operations.map(({ method, path }) => `${method} ${path}`);
  expect(names).toEqual(expect.arrayContaining(DOCUMENTED));
  expect(new Set(names).size).toBe(names.length);
});

test.each(operations.map((entry) => [`${entry.method} ${entry.path}`, entry] as const))("%s is declared in full", (_name, entry) => {
  expect(entry.path).toMatch(/^\/api\//);
  expect(entry.summary).not.toBe("");
  expect(entry.responses[entry.status]?.schema).toBeDefined();
  expect(entry.path.includes(":")).toBe(entry.params !== undefined);
  expect(entry.auth === "admin").toBe(entry.path.startsWith("/api/admin/"));
  if (entry.method === "get") expect(entry.body).toBeUndefined();
});

test("the OpenAPI document names every operation, and every reference in it leads somewhere", () => {
  const count = Object.values(document.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  expect(count).toBe(operations.length);
  const text = JSON.stringify(document);
  expect(text).not.toContain("$defs");
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
    expect(document.components.schemas).toHaveProperty([name ?? ""]);
  for (const path of Object.keys(document.paths)) {
    for (const entry of Object.values(document.paths[path] ?? {})) {
      const declared = (entry.parameters ?? []).filter((parameter) => parameter.in === "path").map((parameter) => parameter.name);
      expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  }
});

test("money is described as a 64-bit integer and paging as integers", () => {
  const user = document.components.schemas["User"] as { properties: Record<string, unknown> };
  expect(user.properties["id"]).toEqual({ type: "integer", format: "int64" });
  const page = document.paths["/api/models"]?.["get"]?.parameters?.find(({ name }) => name === "page");
  expect(page?.schema).toMatchObject({ type: "integer", minimum: 1, default: 1 });
});

test("the page for people shows every operation and runs no script", () => {
  const page = docsPage(document);
  for (const path of Object.keys(document.paths)) expect(page).toContain(`<code>${path}</code>`);
  // Samples name addresses; nothing is loaded from or linked to one.
  expect(page).not.toMatch(/<script|javascript:|(src|href|action)="?https?:|url\(/);
});
