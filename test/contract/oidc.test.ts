import { adminToken, call, newTenant } from "../helpers/api.ts";
import { CookieClient, type Issuer, type IssuerPlan, planIssuer, startIssuer } from "../helpers/oidc.ts";
import { type System, startSystem } from "../helpers/system.ts";

// The whole flow over HTTP, against a real issuer.

let plan: IssuerPlan;
let system: System;
let issuer: Issuer;

beforeAll(async () => {
  plan = await planIssuer();
  system = await startSystem({ env: { ...plan.env, SIGNUP_GRANT_NANO_USD: "7" } });
});
afterAll(async () => {
  await issuer?.stop();
  await system?.stop();
});

const startUrl = (next = "") => `${system.url}/api/auth/oidc/sso${next === "" ? "" : `?next=${encodeURIComponent(next)}`}`;
const refused = (reason: string) => ({ status: 303, location: `${system.url}/ui/login?refused=${reason}` });
const changed = (url: string, name: string, value: string) => {
  const copy = new URL(url);
  copy.searchParams.set(name, value);
  return copy.href;
};

/** Signs in at the issuer, and returns the callback that the issuer sends the browser to. */
async function callbackOf(
  client: CookieClient,
  form: Record<string, string>,
  { next = "", change = (url: string) => url } = {},
): Promise<string> {
  let step = await client.open(change((await client.open(startUrl(next))).location));
  const interaction = step.location;
  step = await client.open(interaction, form);
  while (step.location.startsWith(plan.issuer)) step = await client.open(step.location);
  if (!step.location.startsWith(`${system.url}/api/auth/oidc/sso/callback?`))
    throw new Error(`the issuer answered ${JSON.stringify(step)}`);
  return step.location;
}

async function signIn(sub: string, options: { next?: string; change?: (url: string) => string } = {}) {
  const client = new CookieClient();
  const callback = await callbackOf(client, { account: sub }, options);
  return { client, callback, end: await client.open(callback) };
}

const sessionOf = (client: CookieClient) => client.cookies.get("__Host-tributary");
const meOf = async (client: CookieClient) => (await call(system.url, "GET", "/api/auth/me", { token: sessionOf(client) })).body;

test("while the issuer is away, a sign-in leads back to the log-in page and says so", async () => {
  const client = new CookieClient();
  expect(await client.open(startUrl())).toEqual(refused("unavailable"));
  expect(client.cookies.size).toBe(0);
  issuer = await startIssuer(plan, system);
  await issuer.putAccount("ada", { email: "Ada@Example.org", email_verified: true, name: "Ada" });
});

test("the list names the provider and none of its secrets; another provider is 404", async () => {
  const list = await call(system.url, "GET", "/api/auth/oidc");
  expect(list.body).toEqual({ data: [{ id: "sso", name: "Example SSO" }] });
  expect((await call(system.url, "GET", "/api/auth/oidc/other")).status).toBe(404);
  const elsewhere = await call(system.url, "GET", `/api/auth/oidc/sso?next=${encodeURIComponent("//evil.example")}`);
  expect(elsewhere.status).toBe(400);
});

test("a first sign-in creates an account with a verified address and the sign-up grant; the next one finds it by its subject", async () => {
  const first = await signIn("ada", { next: "/teams?tab=mine" });
  expect(first.end).toEqual({ status: 303, location: `${system.url}/ui/teams?tab=mine` });
  const me = await meOf(first.client);
  expect(me).toMatchObject({ user: { email: "ada@example.org", name: "Ada", emailVerified: true }, organization: { balance: 7 } });
  // The flow is in a cookie that no script can read, and it is gone.
  expect([...first.client.cookies.keys()].filter((name) => name.includes("tributary-oidc"))).toEqual([]);
  await issuer.putAccount("ada", { email: "renamed@example.org", email_verified: false });
  const again = await signIn("ada");
  expect((await meOf(again.client)).user).toMatchObject({ id: me.user.id, email: "ada@example.org" });
  const { data } = (await call(system.url, "GET", `/api/admin/audit?actor=${me.user.id}`, { token: await adminToken(system) })).body;
  expect(data.map(({ action, details }: { action: string; details: object }) => ({ action, details }))).toEqual([
    { action: "session.open", details: { userId: me.user.id, method: "oidc", issuer: plan.issuer } },
    { action: "session.open", details: { userId: me.user.id, method: "oidc", issuer: plan.issuer } },
    { action: "user.signup", details: { method: "oidc", issuer: plan.issuer } },
  ]);
});

test("an account whose address was verified is linked, and keeps its password", async () => {
  await issuer.putAccount("chief", { email: "admin@localhost", email_verified: true });
  const { client, end } = await signIn("chief");
  expect(end.location).toBe(`${system.url}/ui/`);
  expect((await meOf(client)).user).toMatchObject({ email: "admin@localhost", role: "admin" });
  expect(await adminToken(system)).toBeTruthy();
});

test("an account that a stranger made with the address of another person is not linked: both stay apart", async () => {
  const stranger = await newTenant(system);
  await issuer.putAccount("victim", { email: stranger.email, email_verified: true });
  const { client, end } = await signIn("victim");
  expect(end).toEqual(refused("unlinked"));
  expect(sessionOf(client)).toBeUndefined();
});

test.each([
  ["does not confirm", { email: "unconfirmed@example.org", email_verified: false }],
  ["does not confirm, of the administrator,", { email: "admin@localhost", email_verified: false }],
  ["does not send", {}],
])("an address that the issuer %s opens no session and creates no account", async (name, claims) => {
  await issuer.putAccount(name, claims);
  const { client, end } = await signIn(name);
  expect(end).toEqual(refused("unverified"));
  expect(sessionOf(client)).toBeUndefined();
  const token = await adminToken(system);
  expect((await call(system.url, "GET", "/api/admin/users?search=unconfirmed", { token })).body.meta.total).toBe(0);
});

test("a callback with another state, another browser's callback and one without its cookie are refused", async () => {
  const client = new CookieClient();
  const callback = await callbackOf(client, { account: "ada" });
  const cookies = new Map(client.cookies);
  expect(await client.open(changed(callback, "state", "x".repeat(43)))).toEqual(refused("expired"));
  expect(await new CookieClient().open(callback)).toEqual(refused("expired"));
  const other = new CookieClient();
  await other.open(startUrl());
  expect(await other.open(callback)).toEqual(refused("expired"));
  const forger = new CookieClient();
  forger.cookies.set("__Host-tributary-oidc", Buffer.from(JSON.stringify({ purpose: "oidc" })).toString("base64"));
  expect(await forger.open(callback)).toEqual(refused("expired"));
  for (const each of [client, other, forger]) expect(sessionOf(each)).toBeUndefined();
  // The right browser still can.
  for (const [name, value] of cookies) client.cookies.set(name, value);
  expect((await client.open(callback)).location).toBe(`${system.url}/ui/`);
});

test("a callback opens one session: a replay is refused, with the cookie too", async () => {
  const client = new CookieClient();
  const callback = await callbackOf(client, { account: "ada" });
  const replayer = new CookieClient();
  for (const [name, value] of client.cookies) replayer.cookies.set(name, value);
  expect((await client.open(callback)).location).toBe(`${system.url}/ui/`);
  expect(await client.open(callback)).toEqual(refused("expired"));
  // The issuer takes a code once.
  expect(await replayer.open(callback)).toEqual(refused("invalid"));
  expect(sessionOf(replayer)).toBeUndefined();
});

test.each([
  ["nonce", "nonce", "invalid"],
  ["PKCE challenge", "code_challenge", "invalid"],
])("an answer for another %s is refused", async (_name, parameter, reason) => {
  const { client, end } = await signIn("ada", { change: (url) => changed(url, parameter, "x".repeat(43)) });
  expect(end).toEqual(refused(reason));
  expect(sessionOf(client)).toBeUndefined();
});

test("a sign-in that the person cancels at the issuer leads back to the log-in page", async () => {
  const client = new CookieClient();
  expect(await client.open(await callbackOf(client, { cancel: "yes" }))).toEqual(refused("denied"));
  expect(sessionOf(client)).toBeUndefined();
});

test("neither the client's secret nor codes, states or session tokens are in a log", async () => {
  const { client, callback } = await signIn("ada");
  const { searchParams } = new URL(callback);
  const secrets = [plan.env.OIDC_CLIENT_SECRET, searchParams.get("code"), searchParams.get("state"), sessionOf(client)];
  for (const secret of secrets) {
    expect(secret).toBeTruthy();
    expect(system.logs()).not.toContain(secret);
  }
});
