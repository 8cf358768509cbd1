import { type Answer, adminToken, call, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { isThorough } from "../helpers/thorough.ts";
import { type Example, furnishedTenant, INPUTS, missing, type Things } from "./inputs.ts";
import { dump, expectError, fieldsOf, nameOf, operations, pathOf } from "./support.ts";

// Tenants A and B. With B's credentials, in every role, each id of A's in each place of each operation must look like an id that
// names nothing, word for word; and nothing of A's changes or shows.

interface Actor {
  token: string;
  own: Things;
}

type Role = "outsider" | "owner" | "admin" | "member" | "removed";
const ROLES: readonly Role[] = ["outsider", "owner", "admin", "member", "removed"];

let system: System;
let a: { tenant: Tenant; things: Things; guest: Tenant; names: string[] };
let actors: Record<Role, Actor>;
let credentials: Tenant;

beforeAll(async () => {
  system = await startSystem();
  const admin = await adminToken(system);
  a = await furnishedTenant(system, { name: "alphacorp", admin });
  const b = await furnishedTenant(system, { name: "betacorp", admin });
  credentials = b.tenant;
  const joins = async (role: string): Promise<Actor> => {
    const person = await newTenant(system);
    await joinTeam(system, { from: b.tenant, guest: person, teamId: b.things.teamId, role });
    await ask("PUT", "/api/gw/organizations", { token: person.token, body: { id: b.things.organizationId, active: true } });
    return { token: person.token, own: b.things };
  };
  const outsider = await furnishedTenant(system, { name: "outsider", admin });
  const removed = await furnishedTenant(system, { name: "exmember", admin });
  const inA = { teamId: a.things.teamId };
  await joinTeam(system, { from: a.tenant, guest: removed.tenant, ...inA, role: "admin" });
  await ask("PUT", "/api/gw/organizations", { token: removed.tenant.token, body: { id: a.things.organizationId, active: true } });
  expect((await ask("GET", `/api/gw/teams/${inA.teamId}`, { token: removed.tenant.token })).status).toBe(200);
  await ask("POST", "/api/gw/teams/remove-member", { token: a.tenant.token, body: { ...inA, memberId: removed.tenant.userId } });
  actors = {
    outsider: { token: outsider.tenant.token, own: outsider.things },
    owner: { token: b.tenant.token, own: b.things },
    admin: await joins("admin"),
    member: await joins("member"),
    removed: { token: removed.tenant.token, own: removed.things },
  };
});
afterAll(() => system.stop());

const ask = (method: string, path: string, options?: Parameters<typeof call>[3]): Promise<Answer> =>
  call(system.url, method, path, options);

const send = (entry: (typeof operations)[number], example: Example, token: string | undefined) =>
  ask(entry.method.toUpperCase(), pathOf(entry.path, example.params, example.query), {
    token,
    ...(example.body ? { body: example.body } : {}),
  });

/** The example with one id replaced. A reference under one field name takes the place of the same one under the other. */
function withId(example: Example, { place, field }: { place: "params" | "query" | "body"; field: string }, id: string): Example {
  const others = { apiKey: ["token"], token: ["apiKey"], teamId: ["team_id"], team_id: ["teamId"] }[field] ?? [];
  const rest = Object.fromEntries(Object.entries(example[place] ?? {}).filter(([name]) => !others.includes(name)));
  return { ...example, [place]: { ...rest, [field]: id } };
}

/** What must never be seen of A: ids, names and addresses, all but the one that was sent. */
const traces = (sent: string): string[] =>
  [...Object.values(a.things).filter((id) => id.length > 4), ...a.names, a.tenant.key].filter((trace) => trace !== sent);
const showsNothing = (answer: Answer, sent: string, where: string) => {
  for (const trace of traces(sent))
    if (answer.text.includes(trace)) throw new Error(`${where} shows ${trace}: ${answer.text.slice(0, 2000)}`);
};
const comparable = ({ status, body, text }: Answer, sent: string) => ({
  status,
  body: JSON.stringify(body === undefined ? text : { ...body, requestId: "" }).replaceAll(sent, "<sent>"),
});

test("every operation of the table has its inputs here, with every field that can hold an id", () => {
  expect(Object.keys(INPUTS).sort()).toEqual(operations.map(nameOf).sort());
  for (const entry of operations) {
    const inputs = INPUTS[nameOf(entry)];
    for (const place of ["params", "query", "body"] as const) {
      const fields = fieldsOf(entry[place]).map(({ path }) => path.join("."));
      const holdsId = fields.filter((field) => /(^|_)id$|Id$|^(apiKey|token)$/.test(field) && !NOT_IDS.has(`${nameOf(entry)} ${field}`));
      const known = inputs?.ids.filter((id) => id.place === place).map(({ field }) => field) ?? [];
      expect({ operation: nameOf(entry), place, fields: known }).toEqual({
        operation: nameOf(entry),
        place,
        fields: expect.arrayContaining(holdsId),
      });
    }
  }
});

/** Named like ids, and none: a mailed secret, a name at the provider, a provider's own key, a trace that a client names. */
const NOT_IDS = new Set([
  "post /api/auth/password/reset token",
  "post /api/auth/verify-email token",
  "post /api/invitations/accept token",
  "post /api/admin/models inferenceModelId",
  "patch /api/admin/models/:id inferenceModelId",
  "put /api/admin/models/:id inferenceModelId",
  "post /api/admin/providers apiKey",
  "patch /api/admin/providers/:id apiKey",
  "get /api/gw/logs trace_id",
  "get /api/gw/usage trace_id",
]);

const table = operations.map((entry) => [nameOf(entry), entry] as const);

/** Each operation in one role, or in all of them. */
const tableAs = (role: Role) => (isThorough ? table : table.filter((_, index) => ROLES[index % ROLES.length] === role));

describe.each(ROLES)("as %s", (role) => {
  let before: unknown;
  beforeAll(async () => {
    before = await dump(system.url, a.tenant.token);
  });
  afterAll(async () => {
    expect(await dump(system.url, a.tenant.token)).toEqual(before);
  });

  test.each(tableAs(role).filter(([name]) => (INPUTS[name]?.ids.length ?? 0) > 0))(
    "%s: another tenant's id is a missing one",
    async (name, entry) => {
      const { own, token } = actors[role];
      // A plain member may be refused for the role before the id is looked up.
      const expected = entry.auth === "admin" ? [403] : role === "member" ? [403, 404] : [404];
      const cases = (INPUTS[name]?.ids ?? []).flatMap((field) => field.kinds.map((kind) => ({ field, kind })));
      for (const { field, kind } of cases) {
        const example = INPUTS[name]?.example(own) ?? {};
        const [theirs, nothing] = [a.things[kind], missing(kind)];
        const hidden = await send(entry, withId(example, field, theirs), token);
        const absent = await send(entry, withId(example, field, nothing), token);
        const where = `${name} ${field.place}.${field.field} as ${role}`;
        expect({ where, ...comparable(hidden, theirs) }).toEqual({ where, ...comparable(absent, nothing) });
        expect({ where, status: hidden.status, known: expected.includes(hidden.status) }).toMatchObject({ where, known: true });
        showsNothing(hidden, theirs, where);
      }
    },
  );

  test.each(tableAs(role).filter(([name]) => INPUTS[name]?.ids.every(({ place }) => place === "query") && !INPUTS[name]?.endsToken))(
    "%s: shows nothing of another tenant",
    async (name, entry) => {
      const answer = await send(
        entry,
        INPUTS[name]?.example(actors[role].own) ?? {},
        entry.auth === "none" ? undefined : actors[role].token,
      );
      expect(answer.status).toBeLessThan(500);
      if (!PUBLIC.has(name)) showsNothing(answer, "", `${name} as ${role}`);
    },
  );

  test("another tenant's cursor is only a place in time: it shows own rows or none", async () => {
    const theirs = await ask("GET", "/api/gw/logs?pageSize=1", { token: a.tenant.token });
    const cursor = theirs.body.meta.nextCursor ?? Buffer.from(JSON.stringify([Date.now() + 1000, a.things.logId])).toString("base64url");
    const answer = await ask("GET", `/api/gw/logs?cursor=${encodeURIComponent(cursor)}`, { token: actors[role].token });
    expect(answer.status).toBe(200);
    showsNothing(answer, "", "a cursor");
  });

  test("both ids of another tenant at once are no better than one", async () => {
    const { teamId, memberId } = a.things;
    const answer = await ask("POST", "/api/gw/teams/remove-member", { token: actors[role].token, body: { teamId, memberId } });
    expectError(answer, 404, "NOT_FOUND");
  });

  test("another tenant's key pays for no other tenant", async () => {
    const body = { model: "echo", messages: [{ role: "user", content: "on your bill" }], apiKey: a.things.keySecret };
    expectError(await ask("POST", "/api/gw/messages", { token: actors[role].token, body }), 401, "UNAUTHORIZED");
  });
});

/** The catalog is public. */
const PUBLIC = new Set(["get /api/models", "get /api/providers"]);

describe("without credentials", () => {
  test.each(table.filter(([, { auth }]) => auth !== "none"))("%s is 401 before anything is looked up", async (name, entry) => {
    const before = await dump(system.url, a.tenant.token);
    const answer = await send(entry, INPUTS[name]?.example(a.things) ?? {}, undefined);
    expectError(answer, 401, "UNAUTHORIZED");
    showsNothing(answer, "", name);
    expect(await dump(system.url, a.tenant.token)).toEqual(before);
  });
});

test("a token that was ended reaches nothing any more", async () => {
  const { email, password } = credentials;
  for (const [name, entry] of table.filter(([name]) => INPUTS[name]?.endsToken)) {
    const { body } = await ask("POST", "/api/auth/token", { body: { email, password } });
    expect((await send(entry, INPUTS[name]?.example(actors.owner.own) ?? {}, body.token)).status).toBe(200);
    expectError(await ask("GET", "/api/gw/teams", { token: body.token }), 401, "UNAUTHORIZED");
  }
});

test("a removed member cannot make a key as a way back in", async () => {
  const person = await newTenant(system);
  await joinTeam(system, { from: a.tenant, guest: person, teamId: a.things.teamId });
  await ask("POST", "/api/gw/teams/remove-member", { token: a.tenant.token, body: { teamId: a.things.teamId, memberId: person.userId } });
  const body = { name: "way back", team_id: a.things.teamId };
  expectError(await ask("POST", "/api/gw/api-keys", { token: person.token, body }), 404, "NOT_FOUND");
});
