import { ADMIN_EMAIL, ADMIN_PASSWORD, type System } from "./system.ts";

/** A JSON response as a client sees it; numbers that a double cannot hold would be visible here. */
export interface Answer {
  status: number;
  headers: Headers;
  /** Typed like the result of JSON.parse, because tests inspect bodies of every shape, including wrong ones. */
  body: ReturnType<typeof JSON.parse>;
  text: string;
}

export interface CallOptions {
  token?: string | undefined;
  key?: string | undefined;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** One HTTP call. `body` is sent as JSON, or unchanged if it is a string. */
export async function call(url: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { token, key, body, headers } = options;
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { "x-gw-api-key": key }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text), text };
}

/** A user with a team, and optionally a key and credits. */
export interface Tenant {
  email: string;
  password: string;
  token: string;
  userId: number;
  organizationId: string;
  teamId: string;
  /** The secret and the ID of the first key. */
  key: string;
  keyId: string;
}

let counter = 0;

export async function newTenant(system: Pick<System, "url">, options: { creditNano?: number; name?: string } = {}): Promise<Tenant> {
  const name = `${options.name ?? "tenant"}-${process.pid}-${Date.now()}-${counter++}`;
  const [email, password] = [`${name}@example.org`, `password of ${name}`];
  const signup = await call(system.url, "POST", "/api/auth/signup", { body: { email, password, name } });
  if (signup.status !== 201) throw new Error(`sign-up answered ${signup.status}: ${signup.text}`);
  const { token, user, organization, team } = signup.body;
  const key = await call(system.url, "POST", "/api/gw/api-keys", { token, body: { name: "first", team_id: team.id } });
  if (options.creditNano) await buy(system, token, options.creditNano);
  return {
    email,
    password,
    token,
    userId: user.id,
    organizationId: organization.id,
    teamId: team.id,
    key: key.body.key,
    keyId: key.body.apiKey.id,
  };
}

/** Adds a user with an account to a team: invites them and accepts with the token of the link. */
export async function joinTeam(
  system: Pick<System, "url">,
  { from, guest, teamId, role = "member" }: { from: Pick<Tenant, "token">; guest: Tenant; teamId: string; role?: string },
): Promise<Answer> {
  const invited = await call(system.url, "POST", "/api/gw/teams/invite-member", {
    token: from.token,
    body: { teamId, email: guest.email, role },
  });
  if (invited.body.member?.status !== "invited") return invited;
  const accepted = await call(system.url, "POST", "/api/invitations/accept", {
    token: guest.token,
    body: { token: inviteToken(invited) },
  });
  if (accepted.status !== 200) throw new Error(`the invitation was not accepted, ${accepted.status}: ${accepted.text}`);
  return accepted;
}

/** The token in an invitation link. */
export function inviteToken(invited: Answer): string {
  return new URL(invited.body.inviteUrl).searchParams.get("token") ?? "";
}

export function buy(system: Pick<System, "url">, token: string, amount: number): Promise<Answer> {
  return call(system.url, "POST", "/api/credits/purchase", { token, body: { amount, method: "test" } });
}

export async function adminToken(system: Pick<System, "url">): Promise<string> {
  const answer = await call(system.url, "POST", "/api/auth/token", { body: { email: ADMIN_EMAIL, password: ADMIN_PASSWORD } });
  return answer.body.token;
}

export function chat(system: Pick<System, "url">, key: string, content: string, more: object = {}): Promise<Answer> {
  return call(system.url, "POST", "/v1/chat/completions", { key, body: { model: "echo", messages: [{ role: "user", content }], ...more } });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
