import { readControlConfig } from "../../config.ts";
import { type Claims, type OidcIssuer, SignInRefused } from "../../oidc/issuer.ts";
import { openPlatform, outcomeOf, PASSWORD, type Platform } from "../platform-fixture.ts";
import { identityHandlers } from "./service.ts";

// Accounts and flows, with an issuer that says what a test wants; test/contract/oidc.test.ts has a real one.

const ISSUER = "https://issuer.example.org";

let platform: Platform;
let claims: Claims | SignInRefused;
afterEach(() => platform.close());

const issuer: OidcIssuer = {
  id: "sso",
  name: "Example",
  authorizationUrl: async ({ state }) => `${ISSUER}/auth?state=${state}`,
  claimsOf: async () => {
    if (claims instanceof SignInRefused) throw claims;
    return claims;
  },
};

const open = async (environment: Record<string, string> = {}) => {
  platform = await openPlatform(environment);
};
const identity = () => identityHandlers({ ...platform.deps, oidc: issuer });
const claim = (more: Partial<Claims> = {}) => {
  claims = { issuer: ISSUER, subject: "1", email: "new@example.org", isEmailVerified: true, name: undefined, ...more };
};
const start = async () => {
  const { authorizationUrl, flow } = await identity().startOidc({ provider: "sso", next: "/" }, platform.as("anonymous"));
  return { provider: "sso", flow, query: new URL(authorizationUrl).search.slice(1) };
};
const finish = (request: { provider: string; flow: string; query: string }, ip = "192.0.2.1") =>
  identity().finishOidc(request, platform.as("anonymous", { "x-client-ip": ip }));
const signIn = async (ip?: string) => finish(await start(), ip);
const meOf = ({ token }: { token: string }) => identity().getMe({}, platform.as("anonymous", { authorization: token }));
const verified = async () => (await platform.deps.store.find("users", "byEmail", ["new@example.org"]))?.emailVerifiedAt !== undefined;

test("the issuer is on with all three settings, and http only where the deployment is not exposed", async () => {
  await open();
  const client = { OIDC_CLIENT_ID: "c", OIDC_CLIENT_SECRET: "s" };
  const settings = (issuer: string, more: Record<string, string> = {}) =>
    readControlConfig({ ...client, OIDC_ISSUER: issuer, ...more }).oidc;
  expect(settings(ISSUER)).toEqual({ issuer: ISSUER, clientId: "c", clientSecret: "s", name: "issuer.example.org" });
  expect(settings("http://127.0.0.1:1", { OIDC_NAME: "Staff" })?.name).toBe("Staff");
  expect(() => settings("http://127.0.0.1:1", { PUBLIC_URL: "https://example.org" })).toThrow("OIDC_ISSUER: must be an https address");
  expect(() => readControlConfig(client)).toThrow("set all three");
  expect(readControlConfig({}).oidc).toBeUndefined();
});

test("with mail too, an account of an issuer has its grant at once, and no password that works", async () => {
  await open({ SMTP_URL: "smtp://mail.example.org" });
  claim();
  const { user, organization, canVerifyEmail } = await meOf(await signIn());
  expect([user?.name, user?.emailVerified, canVerifyEmail, organization?.balance]).toEqual(["new", true, false, 1000n]);
  for (const password of ["", PASSWORD]) {
    expect(await outcomeOf(identity().createToken({ email: "new@example.org", password }, platform.as("anonymous")))).toBe("UNAUTHORIZED");
  }
  expect(platform.mails).toEqual([]);
});

test("an account is linked only after its own user verified the address; nobody else's click counts", async () => {
  await open({ SMTP_URL: "smtp://mail.example.org" });
  claim();
  const { token, user } = await identity().signUp({ email: "new@example.org", password: PASSWORD }, platform.as("anonymous"));
  const link = { token: /token=([\w-]+)/.exec(platform.mails[0]?.text ?? "")?.[1] ?? "" };
  expect((await signIn()).refusal).toBe("unlinked");
  // The owner of the mailbox opens the link of an account that is not theirs.
  await outcomeOf(identity().verifyEmail(link, platform.as("anonymous")));
  await outcomeOf(identity().verifyEmail(link, platform.as("stranger")));
  expect([await verified(), (await signIn()).refusal]).toEqual([false, "unlinked"]);
  await identity().verifyEmail(link, platform.as("anonymous", { authorization: token }));
  expect((await meOf(await signIn())).user?.id).toBe(user?.id);
});

test("a disabled user gets no session from the issuer either, and one again when enabled", async () => {
  await open();
  claim();
  const { user } = await meOf(await signIn());
  const set = (disabled: boolean) => identity().setUserDisabled({ id: user?.id ?? 0n, disabled }, platform.as("operator"));
  await set(true);
  expect(await signIn()).toMatchObject({ token: "", refusal: "disabled" });
  await set(false);
  expect((await meOf(await signIn())).user?.id).toBe(user?.id);
});

test("subjects are apart: another subject or issuer with the same name is another person", async () => {
  await open();
  claim();
  const first = await meOf(await signIn());
  for (const other of [{ subject: "2" }, { issuer: "https://other.example.org" }, { issuer: `${ISSUER}1`, subject: "" }]) {
    claim({ ...other, email: `other${JSON.stringify(other).length}@example.org` });
    expect((await meOf(await signIn())).user?.id).not.toBe(first.user?.id);
  }
  claim({ email: undefined, isEmailVerified: false });
  expect((await meOf(await signIn())).user?.id).toBe(first.user?.id);
});

test("a deleted account is not found by its subject again", async () => {
  await open();
  claim();
  const first = await meOf(await signIn());
  await identity().deleteUser({ id: first.user?.id ?? 0n }, platform.as("operator"));
  const second = await meOf(await signIn());
  expect(second.user?.id).not.toBe(first.user?.id);
});

test("a flow opens one session, even if the issuer takes its code twice, and only within ten minutes", async () => {
  await open();
  claim();
  const flow = await start();
  expect((await finish(flow)).refusal).toBeUndefined();
  expect((await finish(flow)).refusal).toBe("expired");
  const late = await start();
  await platform.advance(600_000);
  expect((await finish(late)).refusal).toBe("expired");
});

test("a flow of another purpose or another secret is refused before the issuer is called", async () => {
  await open();
  claims = new SignInRefused("invalid");
  const { flow, ...request } = await start();
  const sealed = platform.deps.secrets.seal(Buffer.from(JSON.stringify({ state: "x" })));
  for (const other of [sealed, "", "AAAA", `${flow.slice(0, -8)}AAAAAAAA`]) {
    expect((await finish({ ...request, flow: other })).refusal).toBe("expired");
  }
  // As many characters as the right one, and more bytes.
  const state = new URLSearchParams(request.query).get("state") ?? "";
  for (const query of [`state=${"é".repeat(state.length)}`, "state=", ""]) {
    expect((await finish({ ...request, flow, query })).refusal).toBe("expired");
  }
  expect((await finish({ ...request, flow })).refusal).toBe("invalid");
  expect(await outcomeOf(finish({ ...request, flow, provider: "other" }))).toBe("NOT_FOUND");
});

test("new accounts count as sign-ups of the client's address; people who have an account still get in", async () => {
  await open({ TRUST_PROXY: "loopback" });
  const outcomes: (string | undefined)[] = [];
  for (let index = 0; index < 21; index++) {
    claim({ subject: `s${index}`, email: `p${index}@example.org` });
    outcomes.push((await signIn()).refusal);
  }
  expect(outcomes).toEqual([...Array(20).fill(undefined), "limited"]);
  claim({ subject: "s0" });
  expect((await signIn()).refusal).toBeUndefined();
});
