import { createHash } from "node:crypto";
import { adminToken, call, inviteToken, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Ask, expectError, nameOf, operations } from "./support.ts";

let system: System;
let tenant: Tenant;
let admin: string;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  [tenant, admin] = [await newTenant(system, { creditNano: 1_000_000_000 }), await adminToken(system)];
  ask = (method, path, options) => call(system.url, method, path, { token: admin, ...options });
});
afterAll(() => system.stop());

describe("ledger and audit", () => {
  test("the ledger verifies: no first bad entry, a sum of zero, as many entries as its last number", async () => {
    const answer = await ask("GET", "/api/admin/ledger/verify");
    expect(answer.body).toEqual({
      ok: true,
      entries: expect.any(Number),
      sum: 0,
      lastSeq: answer.body.entries,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      anchors: expect.any(Number),
      firstBad: null,
      accounts: expect.any(Number),
      usageRows: expect.any(Number),
      rollups: expect.any(Number),
    });
    await call(system.url, "POST", "/api/credits/purchase", { token: tenant.token, body: { amount: 5 } });
    const after = await ask("GET", "/api/admin/ledger/verify");
    expect(after.body).toMatchObject({ ok: true, lastSeq: answer.body.lastSeq + 1 });
    expect(after.body.hash).not.toBe(answer.body.hash);
  });

  test("a fast check without a checkpoint is the full one; another mode is refused", async () => {
    const [full, fast] = [await ask("GET", "/api/admin/ledger/verify?mode=full"), await ask("GET", "/api/admin/ledger/verify?mode=fast")];
    expect(fast.body).toMatchObject({ ok: true, firstBad: null });
    expect(Object.keys(fast.body)).toEqual(Object.keys(full.body));
    expectError(await ask("GET", "/api/admin/ledger/verify?mode=quick"), 400, "VALIDATION_ERROR", "mode");
  });

  test("the audit log verifies, and each of its entries has another hash", async () => {
    const before = (await ask("GET", "/api/admin/audit/verify")).body;
    expect(before).toEqual({
      ok: true,
      entries: expect.any(Number),
      chained: before.entries,
      lastSeq: before.entries,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      firstBad: null,
    });
    await ask("PUT", "/api/gw/organizations", { token: tenant.token, body: { name: "Chained" } });
    const after = (await ask("GET", "/api/admin/audit/verify")).body;
    expect(after).toMatchObject({ ok: true, lastSeq: before.lastSeq + 1 });
    const { data } = (await ask("GET", "/api/admin/audit?pageSize=2")).body;
    expect(data.map(({ hash }: { hash: string }) => hash)).toEqual([after.hash, before.hash]);
  });

  test("the export has one entry per line, oldest first, and its readers can recompute every hash", async () => {
    const answer = await ask("GET", "/api/admin/audit?format=jsonl");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/jsonl; charset=utf-8"]);
    const entries = answer.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    let hash = "0".repeat(64);
    for (const { seq, at, actorId, actorKind, action, target, organizationId, requestId, details, hash: stored } of entries) {
      const fields = [hash, seq, Date.parse(at), actorId, actorKind, action, target, organizationId, requestId, JSON.stringify(details)];
      hash = createHash("sha256").update(JSON.stringify(fields)).digest("hex");
      expect([seq, hash]).toEqual([seq, stored]);
    }
    const verified = (await ask("GET", "/api/admin/audit/verify")).body;
    expect([entries.length, hash]).toEqual([verified.entries, verified.hash]);
  });

  test("the log is filtered by person, action and time, as a page and as an export", async () => {
    const person = await newTenant(system);
    await ask("POST", "/api/auth/token", { token: undefined, body: { email: person.email, password: person.password } });
    const query = `actor=${person.userId}&action=session.open`;
    const { data, meta } = (await ask("GET", `/api/admin/audit?${query}`)).body;
    expect(data[0]).toMatchObject({ actorId: person.userId, actorKind: "user", organizationId: person.organizationId });
    const exported = await ask("GET", `/api/admin/audit?${query}&format=jsonl`);
    expect(exported.text.trimEnd().split("\n")).toHaveLength(meta.total);
    for (const range of ["endDate=2001-01-01", `startDate=${new Date(Date.parse(data[0].at) + 1).toISOString()}`]) {
      expect((await ask("GET", `/api/admin/audit?${query}&${range}`)).body.data).toEqual([]);
      expect((await ask("GET", `/api/admin/audit?${query}&${range}&format=jsonl`)).text).toBe("");
    }
    expectError(await ask("GET", "/api/admin/audit?actor=somebody"), 400, "VALIDATION_ERROR", "actor");
    expectError(await ask("GET", "/api/admin/audit?startDate=yesterday"), 400, "VALIDATION_ERROR", "startDate");
    expectError(await ask("GET", "/api/admin/audit?format=xml"), 400, "VALIDATION_ERROR", "format");
  });

  test("an owner reads and exports the entries of their organization, and no other ones; a member reads none", async () => {
    const [owner, guest] = [await newTenant(system), await newTenant(system)];
    await joinTeam(system, { from: owner, guest, teamId: owner.teamId, role: "member" });
    const audit = (token: string, query = "") => ask("GET", `/api/gw/organizations/audit${query}`, { token });
    const { data, meta } = (await audit(owner.token)).body;
    const actions = data.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(expect.arrayContaining(["user.signup", "team.member.invite", "team.member.join"]));
    const lines = (await audit(owner.token, "?format=jsonl")).text.trimEnd().split("\n");
    expect(lines).toHaveLength(meta.total);
    for (const entry of [...data, ...lines.map((line) => JSON.parse(line))]) expect(entry.organizationId).toBe(owner.organizationId);
    const everywhere = await ask("GET", `/api/admin/audit?organizationId=${owner.organizationId}`);
    expect(everywhere.body.meta.total).toBe(meta.total);
    await ask("PUT", "/api/gw/organizations", { token: guest.token, body: { id: owner.organizationId, active: true } });
    for (const query of ["", "?format=jsonl"]) expectError(await audit(guest.token, query), 403, "FORBIDDEN");
  });

  test("every kind of write leaves a line that says who, what and in which request", async () => {
    const owner = await newTenant(system, { creditNano: 5, name: "audited" });
    const guest = await newTenant(system);
    const [token, teamId] = [owner.token, owner.teamId];
    const invited = await ask("POST", "/api/gw/teams/invite-member", { token, body: { teamId, email: guest.email } });
    const provider = await ask("POST", "/api/admin/providers", { body: { name: "Audited", kind: "echo" } });
    const model = await ask("POST", "/api/admin/models", { body: { name: "audited", provider: "Audited", inferenceModelId: "echo" } });
    const hook = { url: "https://hooks.example.org/", events: ["balance.low"] };
    const webhook = await ask("POST", "/api/gw/webhooks", { token, body: hook });
    const mcp = { name: "audited", url: "https://mcp.example.org/" };
    const server = await ask("POST", "/api/gw/mcp-servers", { token, body: mcp });
    const rule = { name: "audited", spend: 1_000_000_000 };
    const alert = await ask("POST", "/api/gw/alerts", { token, body: rule });
    const audited = await ask("POST", "/api/gw/teams", { token, body: { name: "Spare" } });
    const other = await ask("POST", "/api/auth/token", { body: { email: owner.email, password: owner.password } });
    await ask("POST", "/api/auth/token", { body: { email: owner.email, password: owner.password } });
    const sessions = await ask("GET", "/api/auth/sessions", { token });
    const writes: [string, string, string, object | undefined, string][] = [
      ["user.signup", "POST", "/api/auth/signup", { email: "audit@example.org", password: "long enough" }, ""],
      ["session.open", "POST", "/api/auth/token", { email: owner.email, password: owner.password }, ""],
      ["session.refresh", "POST", "/api/auth/token/refresh", undefined, other.body.token],
      ["organization.update", "PUT", "/api/gw/organizations", { name: "Audited" }, token],
      ["team.create", "POST", "/api/gw/teams", { name: "Audited" }, token],
      ["team.update", "PATCH", `/api/gw/teams/${teamId}`, { rpm: 1000 }, token],
      ["team.member.invite", "POST", "/api/gw/teams/invite-member", { teamId, email: "invited@example.org" }, token],
      ["team.member.join", "POST", "/api/invitations/accept", { token: inviteToken(invited) }, guest.token],
      ["team.member.update", "POST", "/api/gw/teams/update-member", { teamId, memberId: guest.userId, role: "admin" }, token],
      ["team.member.remove", "POST", "/api/gw/teams/remove-member", { teamId, memberId: guest.userId }, token],
      ["key.create", "POST", "/api/gw/api-keys", { name: "Audited", team_id: teamId }, token],
      ["key.update", "POST", "/api/api-keys/update", { token: owner.keyId, name: "Audited" }, token],
      ["key.transfer", "POST", "/api/api-keys/transfer", { apiKey: owner.keyId, team_id: audited.body.team.id }, token],
      ["key.rotate", "POST", "/api/api-keys/rotate", { apiKey: owner.keyId }, token],
      ["key.remove", "POST", "/api/api-keys/remove", { apiKey: owner.keyId }, token],
      ["credits.purchase", "POST", "/api/credits/purchase", { amount: 5 }, token],
      ["webhook.create", "POST", "/api/gw/webhooks", hook, token],
      ["webhook.test", "POST", `/api/gw/webhooks/${webhook.body.webhook.id}/test`, undefined, token],
      ["webhook.delete", "DELETE", `/api/gw/webhooks/${webhook.body.webhook.id}`, undefined, token],
      ["alert.create", "POST", "/api/gw/alerts", rule, token],
      ["alert.update", "PATCH", `/api/gw/alerts/${alert.body.alert.id}`, { email: false }, token],
      ["alert.test", "POST", `/api/gw/alerts/${alert.body.alert.id}/test`, undefined, token],
      ["alert.delete", "DELETE", `/api/gw/alerts/${alert.body.alert.id}`, undefined, token],
      ["mcp_server.create", "POST", "/api/gw/mcp-servers", { ...mcp, name: "audited-2" }, token],
      ["mcp_server.delete", "DELETE", `/api/gw/mcp-servers/${server.body.server.id}`, undefined, token],
      ["team.delete", "DELETE", `/api/gw/teams/${audited.body.team.id}`, undefined, token],
      ["organization.limits", "PATCH", `/api/admin/organizations/${owner.organizationId}`, { tpm: 1000 }, admin],
      ["credits.grant", "POST", `/api/admin/organizations/${owner.organizationId}/credits`, { amount: 5 }, admin],
      ["organization.block", "POST", `/api/admin/organizations/${owner.organizationId}/block`, {}, admin],
      ["organization.unblock", "POST", `/api/admin/organizations/${owner.organizationId}/unblock`, {}, admin],
      ["team.block", "POST", `/api/admin/teams/${teamId}/block`, {}, admin],
      ["team.unblock", "POST", `/api/admin/teams/${teamId}/unblock`, {}, admin],
      ["model.update", "PATCH", `/api/admin/models/${model.body.model.id}`, { description: "x" }, admin],
      ["model.update", "PUT", `/api/admin/models/${model.body.model.id}`, { description: "y" }, admin],
      ["model.delete", "DELETE", `/api/admin/models/${model.body.model.id}`, undefined, admin],
      ["provider.update", "PATCH", `/api/admin/providers/${provider.body.provider.id}`, { name: "Audited 2" }, admin],
      ["provider.delete", "DELETE", `/api/admin/providers/${provider.body.provider.id}`, undefined, admin],
      ["provider.create", "POST", "/api/admin/providers", { name: "Audited 3", kind: "echo" }, admin],
      ["model.create", "POST", "/api/admin/models", { name: "audited 3", provider: "Audited 3", inferenceModelId: "echo" }, admin],
      ["backup.create", "POST", "/api/admin/backup", undefined, admin],
      ["user.update", "PATCH", `/api/admin/users/${guest.userId}`, { name: "Audited" }, admin],
      ["user.disable", "POST", `/api/admin/users/${guest.userId}/disable`, {}, admin],
      ["user.enable", "POST", `/api/admin/users/${guest.userId}/enable`, {}, admin],
      ["user.password.reset-link", "POST", `/api/admin/users/${guest.userId}/password-reset`, undefined, admin],
      ["user.delete", "DELETE", `/api/admin/users/${guest.userId}`, undefined, admin],
      ["session.close", "DELETE", `/api/auth/sessions/${sessions.body.data[0].id}`, undefined, token],
      ["session.close-others", "DELETE", "/api/auth/sessions", undefined, token],
      ["user.password.change", "POST", "/api/auth/password", { currentPassword: owner.password, newPassword: "another password" }, token],
      ["user.password.reset-request", "POST", "/api/auth/password/reset-request", { email: owner.email }, ""],
      ["session.close", "POST", "/api/auth/logout", undefined, token],
    ];
    for (const [index, [action, method, path, body, who]] of writes.entries()) {
      const headers = { "x-request-id": `audited-${index}` };
      const answer = await ask(method, path, { token: who === "" ? undefined : who, headers, ...(body ? { body } : {}) });
      expect([action, answer.status < 300 || answer.text]).toEqual([action, true]);
      const { data } = (await ask("GET", `/api/admin/audit?action=${action}&pageSize=5`)).body;
      expect(data[0]).toMatchObject({ action, requestId: `audited-${index}`, target: expect.any(String), at: expect.any(String) });
      if (who === token) expect(data[0].actorId).toBe(owner.userId);
    }
    // Every write of the table is one of those above, but for the aliases, the reset and the verification, whose tokens are in a mail, and the
    // second factor, which totp.test.ts covers.
    const done = new Set(
      writes.map(
        ([, method, path]) => `${method.toLowerCase()} ${path.replace(/\/(team|org|model|prov|wh|mcp|alert|ses)_\w+|\/\d+/g, "/:id")}`,
      ),
    );
    const left = operations
      .filter(({ method }) => method !== "get")
      .map(nameOf)
      .filter((name) => !done.has(name) && !name.includes("/totp"));
    expect(left.sort()).toEqual([
      "post /api/auth/password/reset",
      "post /api/auth/register",
      "post /api/auth/verify-email",
      "post /api/auth/verify-email/resend",
    ]);
    const secrets = (await ask("GET", "/api/admin/audit?pageSize=100")).text;
    for (const secret of ["long enough", "another password", owner.password, inviteToken(invited)]) expect(secrets).not.toContain(secret);
  });
});
