import { valueAt } from "../output/values.ts";
import type { Check, Shape, World } from "./check.ts";

const list: Shape = {
  data: "array",
  "meta.page": "integer",
  "meta.pageSize": "integer",
  "meta.total": "integer",
  "meta.totalPages": "integer",
};
const session: Shape = { token: "string", expiresAt: "string" };

const keep =
  (field: keyof World, at: string) =>
  (world: World, body: unknown): void => {
    const value = valueAt(body, at);
    if (value !== undefined && value !== null) world[field] = String(value);
  };

const platform = (check: Omit<Check, "document" | "carrier"> & { carrier?: Check["carrier"] }): Check => ({
  document: "platform",
  carrier: "token",
  ...check,
});

/** Checks in dependency order: each uses what the ones before it created. */
export const beforeCalls: readonly Check[] = [
  platform({
    method: "POST",
    path: "/api/auth/token",
    carrier: "none",
    body: ({ email, password }) => ({ email, password }),
    shape: session,
    keep: keep("token", "token"),
  }),
  platform({
    method: "POST",
    path: "/api/auth/token",
    variant: "wrong password",
    carrier: "none",
    body: ({ email }) => ({ email, password: "not the password" }),
    status: [401],
    shape: { error: "string", code: "=UNAUTHORIZED" },
  }),
  platform({ method: "POST", path: "/api/auth/token/refresh", shape: session, keep: keep("token", "token") }),
  platform({
    method: "GET",
    path: "/api/auth/me",
    shape: { "user.id": "integer", "user.email": "string", "user.name": "string", "user.role": "string" },
    keep: keep("memberId", "user.id"),
  }),
  platform({
    method: "GET",
    path: "/api/auth/me",
    variant: "without a token",
    carrier: "none",
    status: [401],
    shape: { error: "string", code: "=UNAUTHORIZED" },
  }),
  platform({ method: "GET", path: "/api/models", carrier: "none", shape: list }),
  platform({ method: "GET", path: "/api/providers", carrier: "none", shape: list }),
  platform({
    method: "GET",
    path: "/api/gw/organizations/list",
    shape: { ...list, "data.0.id": "string" },
    keep: (world, body) => {
      keep("organizationId", "data.0.id")(world, body);
      keep("organizationName", "data.0.name")(world, body);
    },
  }),
  // Sends the current name, so that the check changes nothing.
  platform({
    method: "PUT",
    path: "/api/gw/organizations",
    body: ({ organizationId, organizationName }) => ({ id: organizationId, name: organizationName }),
    shape: { "organization.id": "string" },
  }),
  platform({
    method: "POST",
    path: "/api/gw/teams",
    body: ({ email }) => ({ name: `Conformance ${email}` }),
    status: [200, 201],
    shape: { "team.id": "string", "team.name": "string" },
    keep: keep("teamId", "team.id"),
  }),
  platform({ method: "GET", path: "/api/gw/teams", shape: { ...list, "data.0.id": "string" } }),
  platform({ method: "GET", path: "/api/gw/teams/:id", url: ({ teamId }) => `/api/gw/teams/${teamId}`, shape: { "team.id": "string" } }),
  platform({
    method: "POST",
    path: "/api/gw/teams/invite-member",
    body: ({ teamId, email }) => ({ teamId, teamName: `Conformance ${email}`, email: `invited-${email}`, role: "member" }),
    keep: keep("memberId", "member.memberId"),
  }),
  platform({ method: "POST", path: "/api/gw/teams/remove-member", body: ({ teamId, memberId }) => ({ teamId, memberId }) }),
  platform({
    method: "POST",
    path: "/api/gw/api-keys",
    body: ({ teamId }) => ({ name: "conformance", team_id: teamId }),
    shape: { key: "string" },
    look: ({ body }) => (String(valueAt(body, "key")).startsWith("sk-") ? undefined : "the key does not start with sk-"),
    keep: (world, body) => {
      keep("key", "key")(world, body);
      keep("keyId", "apiKey.id")(world, body);
    },
  }),
  platform({
    method: "GET",
    path: "/api/api-keys",
    shape: list,
    look: ({ text }, { key }) => (key && text.includes(key) ? "the list contains the secret" : undefined),
  }),
  platform({ method: "POST", path: "/api/api-keys/update", body: ({ key }) => ({ token: key, name: "conformance, renamed" }) }),
];

export const afterCalls: readonly Check[] = [
  platform({
    method: "POST",
    path: "/api/gw/messages",
    body: ({ model, key }) => ({ model, messages: [{ role: "user", content: "conformance" }], apiKey: key }),
    shape: { "choices.0.message.content": "string" },
  }),
  platform({ method: "GET", path: "/api/balance", shape: { balance: "integer" } }),
  platform({ method: "GET", path: "/api/quota", shape: { "quota.balance": "integer" } }),
  platform({ method: "GET", path: "/api/gw/logs", shape: list }),
  platform({ method: "POST", path: "/api/api-keys/remove", body: ({ key }) => ({ apiKey: key }) }),
];
