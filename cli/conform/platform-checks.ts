import { valueAt } from "../output/values.ts";
import type { Check, CheckState, ResponseShape } from "./check.ts";

const list: ResponseShape = {
  data: "array",
  "meta.page": "integer",
  "meta.pageSize": "integer",
  "meta.total": "integer",
  "meta.totalPages": "integer",
};
const session: ResponseShape = { token: "string", expiresAt: "string" };

const save =
  (field: keyof CheckState, at: string) =>
  (state: CheckState, body: unknown): void => {
    const value = valueAt(body, at);
    if (value !== undefined && value !== null) state[field] = String(value);
  };

const platform = (check: Omit<Check, "document" | "auth"> & { auth?: Check["auth"] }): Check => ({
  document: "platform",
  auth: "token",
  ...check,
});

/** Checks in dependency order: each uses what the ones before it created. */
export const beforeCalls: readonly Check[] = [
  platform({
    method: "POST",
    path: "/api/auth/token",
    auth: "none",
    body: ({ email, password }) => ({ email, password }),
    shape: session,
    save: save("token", "token"),
  }),
  platform({
    method: "POST",
    path: "/api/auth/token",
    variant: "wrong password",
    auth: "none",
    body: ({ email }) => ({ email, password: "not the password" }),
    status: [401],
    shape: { error: "string", code: "=UNAUTHORIZED" },
  }),
  platform({ method: "POST", path: "/api/auth/token/refresh", shape: session, save: save("token", "token") }),
  platform({
    method: "GET",
    path: "/api/auth/me",
    shape: { "user.id": "integer", "user.email": "string", "user.name": "string", "user.role": "string" },
    save: save("memberId", "user.id"),
  }),
  platform({
    method: "GET",
    path: "/api/auth/me",
    variant: "without a token",
    auth: "none",
    status: [401],
    shape: { error: "string", code: "=UNAUTHORIZED" },
  }),
  platform({ method: "GET", path: "/api/models", auth: "none", shape: list }),
  platform({ method: "GET", path: "/api/providers", auth: "none", shape: list }),
  platform({
    method: "GET",
    path: "/api/gw/organizations/list",
    shape: { ...list, "data.0.id": "string" },
    save: (state, body) => {
      save("organizationId", "data.0.id")(state, body);
      save("organizationName", "data.0.name")(state, body);
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
    save: save("teamId", "team.id"),
  }),
  platform({ method: "GET", path: "/api/gw/teams", shape: { ...list, "data.0.id": "string" } }),
  platform({ method: "GET", path: "/api/gw/teams/:id", url: ({ teamId }) => `/api/gw/teams/${teamId}`, shape: { "team.id": "string" } }),
  platform({
    method: "POST",
    path: "/api/gw/teams/invite-member",
    body: ({ teamId, email }) => ({ teamId, teamName: `Conformance ${email}`, email: `invited-${email}`, role: "member" }),
    save: save("memberId", "member.memberId"),
  }),
  platform({ method: "POST", path: "/api/gw/teams/remove-member", body: ({ teamId, memberId }) => ({ teamId, memberId }) }),
  platform({
    method: "POST",
    path: "/api/gw/api-keys",
    body: ({ teamId }) => ({ name: "conformance", team_id: teamId }),
    shape: { key: "string" },
    inspect: ({ body }) => (String(valueAt(body, "key")).startsWith("sk-") ? undefined : "the key does not start with sk-"),
    save: (state, body) => {
      save("key", "key")(state, body);
      save("keyId", "apiKey.id")(state, body);
    },
  }),
  platform({
    method: "GET",
    path: "/api/api-keys",
    shape: list,
    inspect: ({ text }, { key }) => (key && text.includes(key) ? "the list contains the secret" : undefined),
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
