import { z } from "zod";
import type { openApiDocument } from "../../gateway-edge/server/openapi.ts";
import { type Answer, adminToken, call, joinTeam, newTenant } from "../helpers/api.ts";
import { authenticator } from "../helpers/authenticator.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { furnishedTenant, INPUTS, type Things } from "./inputs.ts";
import { nameOf, operations, pathOf } from "./support.ts";

type Document = ReturnType<typeof openApiDocument>;

let system: System;
let document: Document;
let things: Things;
let tokens: { none: undefined; user: string; admin: string; key: string };

beforeAll(async () => {
  system = await startSystem();
  const admin = await adminToken(system);
  const made = await furnishedTenant(system, { name: "described", admin });
  things = made.things;
  tokens = { none: undefined, user: made.tenant.token, admin, key: made.tenant.key };
  document = (await call(system.url, "GET", "/openapi.json")).body;
});
afterAll(() => system.stop());

const described = (method: string, path: string) => document.paths[path.replace(/:(\w+)/g, "{$1}")]?.[method];

/** A published JSON schema as a validator, its references included. */
function validatorOf(schema: unknown): z.ZodType {
  const text = JSON.stringify({ ...(schema as object), $defs: document.components.schemas }).replaceAll(
    "#/components/schemas/",
    "#/$defs/",
  );
  return z.fromJSONSchema(JSON.parse(text));
}

/** The published schema of an answer of this status, or the one for errors. */
function expectDescribed(method: string, path: string, answer: Answer): void {
  const responses = described(method, path)?.responses ?? {};
  const published = responses[String(answer.status)] ?? responses["default"];
  const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
  // A file is described by its type; what is in it has tests of its own.
  if (type !== "application/json" && published?.content?.[type]) return;
  const schema = published?.content?.["application/json"]?.schema;
  if (!schema) throw new Error(`${method} ${path} answered ${answer.status}, which is not described: ${answer.text.slice(0, 300)}`);
  const result = validatorOf(schema).safeParse(answer.body);
  if (!result.success)
    throw new Error(`${method} ${path} ${answer.status}: ${z.prettifyError(result.error)}\n${answer.text.slice(0, 1000)}`);
}

test("the document is OpenAPI 3.1 and names every operation of the table, and the chat of the platform", () => {
  expect(document.openapi).toBe("3.1.0");
  for (const { method, path } of operations)
    expect({ method, path, found: described(method, path) !== undefined }).toEqual({ method, path, found: true });
  expect(described("post", "/api/gw/messages")).toBeDefined();
  for (const path of [
    "/chat/completions",
    "/v1/chat/completions",
    "/engines/:model/chat/completions",
    "/openai/deployments/:model/chat/completions",
  ]) {
    expect(described("post", path)).toBeDefined();
  }
  for (const path of ["/models", "/v1/models", "/models/:id", "/v1/models/:id"]) expect(described("get", path)).toBeDefined();
});

test("every path that is described is served: nothing in it is a promise only", async () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of Object.keys(methods)) {
      const answer = await call(system.url, method.toUpperCase(), path.replace("{provider}", "openai").replace(/\{\w+\}/g, "x"), {});
      expect({
        method,
        path,
        status: answer.status,
        served:
          ![405, 501].includes(answer.status) && !answer.text.includes("There is no operation") && !answer.text.includes("Unknown URL"),
      }).toEqual({
        method,
        path,
        status: answer.status,
        served: true,
      });
    }
  }
});

test("every epsilon says which change of the updates it is for", () => {
  const found: unknown[] = [];
  JSON.stringify(document, (key, value: unknown) => {
    if (key === "epsilon") found.push(value);
    return value;
  });
  expect(found.length).toBeGreaterThanOrEqual(3);
  for (const epsilon of found) expect(epsilon).toMatchObject({ description: expect.stringContaining("presence or absence of one") });
});

test("operation ids are unique, secured operations say by what, and no secret or address of ours is in it", () => {
  const entries = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(new Set(entries.map(({ operationId }) => operationId)).size).toBe(entries.length);
  for (const entry of operations) {
    expect(described(entry.method, entry.path)?.security).toEqual(entry.auth === "none" ? [] : [{ platformToken: [] }]);
  }
  expect(JSON.stringify(document)).not.toMatch(/\/work\/|127\.0\.0\.1|sk-canary/);
});

// What ends the world of the others comes last: removals, then the token.
const order = (name: string) => (INPUTS[name]?.endsToken ? 3 : name.startsWith("delete") ? 2 : /remove|block/.test(name) ? 1 : 0);
const table = operations.map((entry) => [nameOf(entry), entry] as const).sort(([left], [right]) => order(left) - order(right));

test.each(table)("%s answers as it is described", async (name, entry) => {
  const own = await thingsFor(name);
  const example = INPUTS[name]?.example(own) ?? {};
  const path = pathOf(entry.path, example.params, example.query);
  const token = INPUTS[name]?.endsToken ? (await newTenant(system)).token : tokens[entry.auth];
  const options = { token, ...(example.body ? { body: example.body } : {}) };
  const answer = await call(system.url, entry.method.toUpperCase(), path, options);
  // Log-in, password change and reset, the second factor, and links have no valid example without a person or a mail behind it; their refusals
  // are described as well.
  const withoutPerson = /auth\/token$|auth\/password(\/reset)?$|auth\/verify-email|invitations\/accept$|^(post|delete) .*\/totp\b/.test(
    name,
  );
  const expected = withoutPerson ? [400, 401, 404] : [entry.status];
  expect({ name, status: answer.status, text: expected.includes(answer.status) ? "" : answer.text }).toMatchObject({ text: "" });
  expectDescribed(entry.method, entry.path, answer);
  const wrong = pathOf(entry.path, { id: "\0" }, { page: "0" });
  const refusal = await call(system.url, entry.method.toUpperCase(), wrong, entry.body ? { body: "{" } : {});
  const takesAnything = entry.auth === "none" && !entry.query && !entry.body;
  expect(takesAnything ? [200] : [400, 401]).toContain(refusal.status);
  expectDescribed(entry.method, entry.path, refusal);
});

/** A user, a team or a provider that may be deleted, where the operation deletes it. */
async function thingsFor(name: string): Promise<Things> {
  if (name.startsWith("delete /api/admin/users")) return { ...things, userId: String((await newTenant(system)).userId) };
  if (name === "delete /api/gw/teams/:id") {
    const team = await call(system.url, "POST", "/api/gw/teams", { token: tokens.user, body: { name: "to be deleted" } });
    return { ...things, teamId: team.body.team.id };
  }
  if (!name.startsWith("delete /api/admin/providers")) return things;
  const made = await call(system.url, "POST", "/api/admin/providers", {
    token: tokens.admin,
    body: { name: "to be deleted", kind: "echo" },
  });
  return { ...things, providerId: made.body.provider.id };
}

test("an accepted invitation answers as described", async () => {
  const [host, guest] = [await newTenant(system), await newTenant(system)];
  expectDescribed("post", "/api/invitations/accept", await joinTeam(system, { from: host, guest, teamId: host.teamId }));
});

test("the second factor answers as described, from its set-up to its end", async () => {
  const person = await newTenant(system);
  const path = "/api/auth/totp";
  const send = async (method: "get" | "post" | "delete", rest: string, body?: object) => {
    const answer = await call(system.url, method.toUpperCase(), path + rest, { token: person.token, body });
    expectDescribed(method, path + rest, answer);
    return answer;
  };
  const made = await send("post", "", { password: person.password });
  const app = authenticator(made.body.secret);
  await send("post", "/confirm", { otp: await app.next() });
  await send("get", "");
  const { recoveryCodes } = (await send("post", "/recovery-codes", { otp: await app.next() })).body;
  const off = await send("delete", "", { otp: recoveryCodes[0], password: person.password });
  expect([made.status, recoveryCodes.length, off.status]).toEqual([201, 10, 200]);
});

test("log-in answers as described", async () => {
  const { email, password } = await newTenant(system);
  expectDescribed("post", "/api/auth/token", await call(system.url, "POST", "/api/auth/token", { body: { email, password } }));
});

test("chat and models answer as described, errors too", async () => {
  const tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  const body = { model: "echo", messages: [{ role: "user", content: "hi" }] };
  for (const path of [
    "/chat/completions",
    "/v1/chat/completions",
    "/engines/:model/chat/completions",
    "/openai/deployments/:model/chat/completions",
  ]) {
    const send = (key: string | undefined, sent: unknown) => call(system.url, "POST", pathOf(path, { model: "echo" }), { key, body: sent });
    expectDescribed("post", path, await send(tenant.key, body));
    expectDescribed("post", path, await send(undefined, body));
    expectDescribed("post", path, await send(tenant.key, { ...body, messages: 7 }));
    expectDescribed("post", path, await send(tenant.key, "{"));
  }
  for (const path of ["/models", "/v1/models", "/models/:id", "/v1/models/:id"]) {
    for (const key of [tenant.key, undefined])
      expectDescribed("get", path, await call(system.url, "GET", pathOf(path, { id: "echo" }), { key }));
  }
  const messages = await call(system.url, "POST", "/api/gw/messages", { token: tenant.token, body: { ...body, apiKey: tenant.key } });
  expect(messages.status).toBe(200);
  expectDescribed("post", "/api/gw/messages", messages);
});

test("/docs is one HTML page without scripts or anything from elsewhere, under a strict policy", async () => {
  const page = await call(system.url, "GET", "/docs");
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toMatch(/^text\/html/);
  expect(page.text).toMatch(/^<!doctype html>/i);
  expect(page.text).not.toMatch(/(src|href|action)\s*=\s*["']?(https?:)?\/\//i);
  expect(page.text).not.toMatch(/<script|@import|url\(|<iframe|<link/i);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  for (const { path } of operations) expect(page.text).toContain(path.replace(/:(\w+)/g, "{$1}"));
});
