import { randomUUID } from "node:crypto";
import { systemClock } from "../../common/clock.ts";
import { mintSecret } from "../../common/key-shape.ts";
import { systemRandom } from "../../common/random.ts";
import { call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import type { System } from "../helpers/system.ts";

/** What one tenant has, by the kind of thing an id can name. */
export interface Things {
  organizationId: string;
  teamId: string;
  /** Of a person in the team. */
  memberId: string;
  /** Of an address that has not accepted yet. */
  invitationId: string;
  keyId: string;
  keyHash: string;
  keySecret: string;
  logId: string;
  userId: string;
  modelId: string;
  providerId: string;
  purchaseId: string;
  webhookId: string;
  mcpServerId: string;
  alertId: string;
  /** Of a session of the tenant's owner that is not the current one. */
  sessionId: string;
}

export interface Example {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
}

interface IdField {
  place: "params" | "query" | "body";
  field: string;
  kinds: readonly (keyof Things)[];
}

export interface OperationInputs {
  /** A request that is valid for the owner of the things. */
  example(things: Things): Example;
  /** Every place of the request where an id may stand. */
  ids: readonly IdField[];
  /** The token that it is called with does not outlive it. */
  endsToken?: true;
}

const KEY_KINDS = ["keyId", "keyHash", "keySecret"] as const;
const none = (body?: () => Record<string, unknown>): OperationInputs => ({ example: () => (body ? { body: body() } : {}), ids: [] });
const fresh = (prefix: string) => `${prefix}-${randomUUID().slice(0, 13)}`;
const freshEmail = () => `${fresh("somebody")}@example.org`;
const byId = (kind: keyof Things, body?: () => Record<string, unknown>): OperationInputs => ({
  example: (things) => ({ params: { id: things[kind] }, ...(body ? { body: body() } : {}) }),
  ids: [{ place: "params", field: "id", kinds: [kind] }],
});
const keyReference = (more: () => Record<string, unknown>): OperationInputs => ({
  example: (things) => ({ body: { apiKey: things.keyId, ...more() } }),
  ids: [
    { place: "body", field: "apiKey", kinds: KEY_KINDS },
    { place: "body", field: "token", kinds: KEY_KINDS },
  ],
});
const logFilters: OperationInputs = {
  example: () => ({}),
  ids: [
    { place: "query", field: "team_id", kinds: ["teamId"] },
    { place: "query", field: "teamId", kinds: ["teamId"] },
    { place: "query", field: "apiKey", kinds: KEY_KINDS },
  ],
};
const credentials = () => ({ email: freshEmail(), password: "a long enough password" });

/** Every operation of the table. One that is missing here fails the tenant tests: a new operation needs a decision on who may use it. */
export const INPUTS: Readonly<Record<string, OperationInputs>> = {
  "post /api/auth/signup": none(() => ({ ...credentials(), name: "Somebody", organizationName: "Somebody's" })),
  "post /api/auth/register": none(credentials),
  "post /api/auth/token": none(credentials),
  "post /api/auth/token/refresh": { ...none(), endsToken: true },
  "get /api/auth/sessions": none(),
  "delete /api/auth/sessions/:id": byId("sessionId"),
  "delete /api/auth/sessions": none(),
  "get /api/auth/totp": none(),
  "post /api/auth/totp": none(() => ({ password: "not the password" })),
  "post /api/auth/totp/confirm": none(() => ({ otp: "000000" })),
  "post /api/auth/totp/recovery-codes": none(() => ({ otp: "000000" })),
  "delete /api/auth/totp": none(() => ({ otp: "000000" })),
  "get /api/auth/me": none(),
  "post /api/auth/logout": { ...none(), endsToken: true },
  "post /api/auth/password": none(() => ({ currentPassword: "not the password", newPassword: "another long password" })),
  "post /api/auth/password/reset-request": none(() => ({ email: freshEmail() })),
  "post /api/auth/password/reset": none(() => ({ token: "no-such-token", newPassword: "another long password" })),
  "post /api/auth/verify-email": none(() => ({ token: "no-such-token" })),
  "post /api/auth/verify-email/resend": none(),
  "get /api/auth/oidc": none(),
  "get /api/gw/organizations/list": none(),
  "put /api/gw/organizations": {
    example: ({ organizationId }) => ({ body: { id: organizationId, name: fresh("org"), timezone: "Europe/Berlin" } }),
    ids: [{ place: "body", field: "id", kinds: ["organizationId"] }],
  },
  "get /api/gw/teams": none(),
  "post /api/gw/teams": none(() => ({ name: fresh("team") })),
  "post /api/gw/teams/invite-member": {
    example: ({ teamId }) => ({ body: { teamId, teamName: "whatever it was called", email: freshEmail(), role: "member" } }),
    ids: [
      { place: "body", field: "teamId", kinds: ["teamId"] },
      { place: "body", field: "team_id", kinds: ["teamId"] },
    ],
  },
  "post /api/gw/teams/update-member": {
    example: ({ teamId, memberId }) => ({ body: { teamId, memberId, role: "member" } }),
    ids: [
      { place: "body", field: "teamId", kinds: ["teamId"] },
      { place: "body", field: "memberId", kinds: ["memberId", "invitationId"] },
    ],
  },
  "post /api/gw/teams/remove-member": {
    example: ({ teamId, memberId }) => ({ body: { teamId, memberId } }),
    ids: [
      { place: "body", field: "teamId", kinds: ["teamId"] },
      { place: "body", field: "memberId", kinds: ["memberId", "invitationId"] },
    ],
  },
  "get /api/invitations": none(),
  "post /api/invitations/accept": none(() => ({ token: "inv_none.no-such-token" })),
  "get /api/gw/teams/:id": byId("teamId"),
  "patch /api/gw/teams/:id": byId("teamId", () => ({ name: fresh("renamed") })),
  "delete /api/gw/teams/:id": byId("teamId"),
  "get /api/api-keys": {
    example: () => ({}),
    ids: [
      { place: "query", field: "team_id", kinds: ["teamId"] },
      { place: "query", field: "teamId", kinds: ["teamId"] },
    ],
  },
  "post /api/gw/api-keys": {
    example: ({ teamId }) => ({ body: { name: fresh("key"), team_id: teamId } }),
    ids: [
      { place: "body", field: "team_id", kinds: ["teamId"] },
      { place: "body", field: "teamId", kinds: ["teamId"] },
    ],
  },
  "post /api/api-keys/update": keyReference(() => ({ name: fresh("renamed") })),
  "post /api/api-keys/remove": keyReference(() => ({})),
  "post /api/api-keys/rotate": keyReference(() => ({})),
  "post /api/api-keys/transfer": {
    example: ({ keyId, teamId }) => ({ body: { apiKey: keyId, team_id: teamId } }),
    ids: [
      { place: "body", field: "apiKey", kinds: KEY_KINDS },
      { place: "body", field: "token", kinds: KEY_KINDS },
      { place: "body", field: "team_id", kinds: ["teamId"] },
      { place: "body", field: "teamId", kinds: ["teamId"] },
    ],
  },
  "get /api/balance": none(),
  "get /api/quota": none(),
  "post /api/credits/purchase": none(() => ({ amount: 1_000_000, method: "test" })),
  "get /api/credits/purchases": none(),
  "get /api/credits/purchases/:id/receipt": byId("purchaseId"),
  "get /api/credits/ledger": none(),
  "get /api/gw/webhooks": none(),
  "post /api/gw/webhooks": none(() => ({ url: "https://hooks.example.org/in", events: ["balance.low"] })),
  "delete /api/gw/webhooks/:id": byId("webhookId"),
  "post /api/gw/webhooks/:id/test": byId("webhookId"),
  "get /api/gw/webhooks/:id/deliveries": byId("webhookId"),
  "get /api/gw/alerts": none(),
  "post /api/gw/alerts": {
    example: ({ teamId }) => ({ body: { name: fresh("alert"), errorRatePercent: 5, team_id: teamId } }),
    ids: [{ place: "body", field: "team_id", kinds: ["teamId"] }],
  },
  "patch /api/gw/alerts/:id": {
    example: ({ alertId, teamId }) => ({ params: { id: alertId }, body: { minRequests: 5, team_id: teamId } }),
    ids: [
      { place: "params", field: "id", kinds: ["alertId"] },
      { place: "body", field: "team_id", kinds: ["teamId"] },
    ],
  },
  "delete /api/gw/alerts/:id": byId("alertId"),
  "post /api/gw/alerts/:id/test": byId("alertId"),
  "get /api/gw/alerts/:id/deliveries": byId("alertId"),
  "get /api/gw/mcp-servers": none(),
  "post /api/gw/mcp-servers": {
    example: ({ teamId }) => ({ body: { name: fresh("mcp"), url: "https://mcp.example.org/", pricePerCall: 1, team_id: teamId } }),
    ids: [{ place: "body", field: "team_id", kinds: ["teamId"] }],
  },
  "delete /api/gw/mcp-servers/:id": byId("mcpServerId"),
  "get /api/gw/logs": logFilters,
  "get /api/gw/logs/:id": byId("logId"),
  "get /api/gw/logs/:id/receipt": byId("logId"),
  "get /api/gw/logs/:id/content": byId("logId"),
  "get /api/gw/usage": logFilters,
  "get /api/models": none(),
  "get /api/providers": none(),
  "get /api/provider-kinds": none(),
  "get /api/admin/users": none(),
  "get /api/admin/users/:id": byId("userId"),
  "patch /api/admin/users/:id": byId("userId", () => ({ name: "Renamed by an admin" })),
  "delete /api/admin/users/:id": byId("userId"),
  "delete /api/admin/users/:id/totp": byId("userId"),
  "post /api/admin/users/:id/disable": byId("memberId", () => ({ reason: "a reason" })),
  "post /api/admin/users/:id/enable": byId("memberId", () => ({})),
  "post /api/admin/users/:id/password-reset": byId("userId"),
  "patch /api/admin/organizations/:id": byId("organizationId", () => ({ rpm: 100_000 })),
  "post /api/admin/organizations/:id/credits": byId("organizationId", () => ({ amount: 5, reference: "a note" })),
  "get /api/admin/organizations": none(),
  "post /api/admin/organizations/:id/block": byId("organizationId", () => ({ reason: "a reason" })),
  "post /api/admin/organizations/:id/unblock": byId("organizationId", () => ({})),
  "post /api/admin/teams/:id/block": byId("teamId", () => ({ reason: "a reason" })),
  "post /api/admin/teams/:id/unblock": byId("teamId", () => ({})),
  "get /api/admin/ledger/verify": none(),
  "get /api/admin/ledger/replay": none(),
  "get /api/admin/system": none(),
  "post /api/admin/backup": none(),
  "get /api/admin/audit": {
    example: () => ({}),
    ids: [{ place: "query", field: "organizationId", kinds: ["organizationId"] }],
  },
  "get /api/admin/audit/verify": none(),
  "get /api/gw/organizations/audit": none(),
  "get /api/gw/storage": none(),
  "get /api/admin/models": none(),
  "get /api/admin/providers": none(),
  "get /api/admin/list-prices": { example: () => ({ query: { kind: "openai" } }), ids: [] },
  "post /api/admin/models": {
    example: ({ providerId }) => ({ body: { name: fresh("model"), provider: providerId, inferenceModelId: "echo", type: "chat" } }),
    ids: [{ place: "body", field: "provider", kinds: ["providerId"] }],
  },
  "patch /api/admin/models/:id": byId("modelId", () => ({ description: "described again" })),
  "put /api/admin/models/:id": byId("modelId", () => ({ description: "described again" })),
  "delete /api/admin/models/:id": byId("modelId"),
  "post /api/admin/providers": none(() => ({ name: fresh("provider"), kind: "echo" })),
  "patch /api/admin/providers/:id": byId("providerId", () => ({ name: fresh("provider") })),
  "delete /api/admin/providers/:id": byId("providerId"),
};

/** An id of the same form that names nothing. */
export function missing(kind: keyof Things): string {
  switch (kind) {
    case "userId":
    case "memberId":
      return "987654321";
    case "keyHash":
      return "0123456789abcdef".repeat(4);
    case "keySecret":
      // Well-formed by its checksum, but never issued.
      return UNISSUED_KEY;
    case "invitationId":
      return "inv_0000000000000000000000000";
    default:
      return `${PREFIX[kind]}_0000000000000000000000000`;
  }
}

const UNISSUED_KEY = mintSecret(systemRandom);
const PREFIX = {
  organizationId: "org",
  teamId: "team",
  keyId: "key",
  logId: "call",
  modelId: "model",
  providerId: "prov",
  purchaseId: "pur",
  webhookId: "wh",
  mcpServerId: "mcp",
  alertId: "alert",
  sessionId: "ses",
} as const;

/** A tenant with a member, an invitation, a key, a priced call and so a log entry. */
export async function furnishedTenant(
  system: Pick<System, "url">,
  options: { name: string; admin: string },
): Promise<{ tenant: Tenant; things: Things; guest: Tenant; names: string[] }> {
  const { url } = system;
  const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: options.name });
  const guest = await newTenant(system, { name: `${options.name}guest` });
  const invite = (email: string) =>
    call(url, "POST", "/api/gw/teams/invite-member", { token: tenant.token, body: { teamId: tenant.teamId, email, role: "member" } });
  await joinTeam(system, { from: tenant, guest, teamId: tenant.teamId });
  const invited = `${options.name}.invited.${Date.now()}@example.org`;
  const invitation = await invite(invited);
  await call(url, "PUT", "/api/gw/organizations", { token: tenant.token, body: { logContent: true } });
  const spoken = await chatWithContent(system, tenant, `words of ${options.name}`);
  const keys = await call(url, "GET", "/api/api-keys", { token: tenant.token });
  const provider = await call(url, "POST", "/api/admin/providers", {
    token: options.admin,
    body: { name: fresh(options.name), kind: "echo" },
  });
  const providerId = provider.body.provider.id as string;
  const model = await call(url, "POST", "/api/admin/models", {
    token: options.admin,
    body: { name: fresh(options.name), provider: providerId, inferenceModelId: "echo" },
  });
  await call(url, "POST", "/api/auth/token", { body: { email: tenant.email, password: tenant.password } });
  const sessions = await call(url, "GET", "/api/auth/sessions", { token: tenant.token });
  const me = await call(url, "GET", "/api/auth/me", { token: tenant.token });
  const purchases = await call(url, "GET", "/api/credits/purchases", { token: tenant.token });
  const webhook = await call(url, "POST", "/api/gw/webhooks", {
    token: tenant.token,
    body: { url: `https://hooks.example.org/${options.name}`, events: ["key.created"] },
  });
  const mcpServer = await call(url, "POST", "/api/gw/mcp-servers", {
    token: tenant.token,
    body: { name: fresh("mcp"), url: `https://mcp.example.org/${options.name}` },
  });
  const alert = await call(url, "POST", "/api/gw/alerts", { token: tenant.token, body: { name: fresh("alert"), latencyP95Ms: 60_000 } });
  return {
    tenant,
    guest,
    things: {
      organizationId: tenant.organizationId,
      teamId: tenant.teamId,
      memberId: String(guest.userId),
      invitationId: String(invitation.body.member.memberId),
      keyId: tenant.keyId,
      keyHash: keys.body.data[0].token,
      keySecret: tenant.key,
      logId: spoken.headers.get("x-gw-call-id") ?? "",
      userId: String(tenant.userId),
      modelId: model.body.model.id,
      providerId,
      purchaseId: purchases.body.data[0].id,
      webhookId: webhook.body.webhook.id,
      alertId: alert.body.alert.id,
      mcpServerId: mcpServer.body.server.id,
      sessionId: sessions.body.data.find(({ current }: { current: boolean }) => !current).id,
    },
    names: [tenant.email, guest.email, invited, me.body.organization.name, me.body.user.name],
  };
}

/** A call whose prompt and answer are stored: they arrive after the row, and an edge learns of the setting within a second. */
async function chatWithContent(system: Pick<System, "url">, { key, token }: Tenant, words: string): ReturnType<typeof chat> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const spoken = await chat(system, key, words);
    await systemClock.sleep(200);
    const content = await call(system.url, "GET", `/api/gw/logs/${spoken.headers.get("x-gw-call-id")}/content`, { token });
    if (content.status === 200) return spoken;
  }
  throw new Error("no prompt was stored");
}
