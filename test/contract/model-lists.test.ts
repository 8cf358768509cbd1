import { adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";
import { expectGatewayError, within } from "./support.ts";

let system: System;
let tenant: Tenant;
let stranger: Tenant;

beforeAll(async () => {
  system = await startSystem();
  [tenant, stranger] = [await newTenant(system, { creditNano: 1_000_000_000 }), await newTenant(system)];
  const token = await adminToken(system);
  for (const name of ["alpha", "beta"]) {
    await call(system.url, "POST", "/api/admin/models", { token, body: { name, provider: "echo", inferenceModelId: "echo" } });
  }
});
afterAll(() => system.stop());

const list = (key: string, query = "") => call(system.url, "GET", `/v1/models${query}`, { key });
const names = async (key: string, query = ""): Promise<string[]> =>
  (await list(key, query)).body.data.map(({ id }: { id: string }) => id).sort();
const platform = async (method: string, path: string, body: object) =>
  (await call(system.url, method, path, { token: tenant.token, body })).body;

test("a team's list bounds the lists of its keys, at once, and a key's list is not shown for the team's", async () => {
  const { team } = await platform("POST", "/api/gw/teams", { name: "bounded" });
  const makeKey = async (models?: string[]) =>
    (await platform("POST", "/api/gw/api-keys", { name: "k", team_id: team.id, ...(models ? { models } : {}) })).key as string;
  const [open, narrow, outside] = [await makeKey(), await makeKey(["alpha"]), await makeKey(["echo"])];
  expect(await names(open)).toEqual(["alpha", "beta", "echo"]);
  await platform("PATCH", `/api/gw/teams/${team.id}`, { models: ["alpha", "bet*"] });
  await within(
    1000,
    () => list(open),
    ({ body }) => body.data.length === 2,
  );
  expect(await names(open)).toEqual(["alpha", "beta"]);
  expect(await names(narrow)).toEqual(["alpha"]);
  expect(await names(outside)).toEqual([]);
  expect(await names(narrow, `?team_id=${team.id}`)).toEqual(["alpha", "beta"]);
  expectGatewayError(await chat(system, outside, "x"), 403, "permission_denied_error", "model_not_allowed");
  expectGatewayError(await chat(system, narrow, "x", { model: "beta" }), 403, "permission_denied_error", "model_not_allowed");
  expect((await chat(system, narrow, "x", { model: "alpha" })).status).toBe(200);
  // Another team of the same person, of an admin, and of a stranger.
  expect(await names(tenant.key, `?team_id=${team.id}`)).toEqual(["alpha", "beta"]);
  expect(await names(MASTER_KEY, `?team_id=${team.id}`)).toEqual(["alpha", "beta"]);
  for (const [key, id] of [
    [stranger.key, team.id],
    [MASTER_KEY, "team_0"],
  ] as const) {
    expectGatewayError(await list(key, `?team_id=${id}`), 404, "not_found_error", null);
  }
});
