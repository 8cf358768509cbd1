import { openPlatform, outcomeOf, PASSWORD, type Platform } from "../platform-fixture.ts";
import { teamsHandlers } from "../teams/service.ts";
import { identityHandlers } from "./service.ts";

const WITH_MAIL = { SMTP_URL: "smtp://mail.example.org" };
const EMAIL = "new@example.org";

let platform: Platform;
const open = async (environment: Record<string, string>) => {
  platform = await openPlatform(environment);
};
afterEach(() => platform.close());

const identity = () => identityHandlers(platform.deps);
const withToken = (authorization: string, more = {}) => platform.as("anonymous", { authorization, ...more });
const signUp = (email = EMAIL, more: { inviteToken?: string } = {}) =>
  identity().signUp({ email, password: PASSWORD, ...more }, platform.as("anonymous"));
const verify = (authorization: string, token: string) => identity().verifyEmail({ token }, withToken(authorization));
/** The token of the newest link that was mailed. */
const mailedToken = () => /token=([\w.-]+)/.exec(platform.mails.at(-1)?.text ?? "")?.[1] ?? "";
const facts = async (authorization: string) => {
  const { user, organization, canVerifyEmail } = await identity().getMe({}, withToken(authorization));
  return [user?.emailVerified, canVerifyEmail, organization?.balance];
};

test("with mail, the sign-up grant waits until the address is verified, and is posted once", async () => {
  await open(WITH_MAIL);
  const { token } = await signUp();
  expect(platform.mails.map(({ to }) => to)).toEqual([EMAIL]);
  expect(await facts(token)).toEqual([false, true, 0n]);
  const first = mailedToken();
  await identity().sendVerificationMail({}, withToken(token));
  const outcomes = await Promise.all([first, first, mailedToken()].map((given) => outcomeOf(verify(token, given))));
  expect(outcomes.sort()).toEqual(["VALIDATION_ERROR", "ok", "ok"]);
  expect(await facts(token)).toEqual([true, false, 1000n]);
  expect(await outcomeOf(identity().sendVerificationMail({}, withToken(token)))).toBe("VALIDATION_ERROR");
  expect(platform.mails).toHaveLength(2);
});

test("without mail, the grant is posted at sign-up and no address is verified", async () => {
  await open({});
  const { token } = await signUp();
  expect(await facts(token)).toEqual([false, false, 1000n]);
  expect(await outcomeOf(identity().sendVerificationMail({}, withToken(token)))).toBe("VALIDATION_ERROR");
  expect(platform.mails).toEqual([]);
});

test("a link verifies only the account that it was sent to, by its signed-in user, within 48 hours", async () => {
  await open(WITH_MAIL);
  const { token } = await signUp();
  const link = mailedToken();
  expect(await outcomeOf(identity().verifyEmail({ token: link }, platform.as("anonymous")))).toBe("UNAUTHORIZED");
  expect(await outcomeOf(identity().verifyEmail({ token: link }, platform.as("stranger")))).toBe("FORBIDDEN");
  expect(await outcomeOf(verify(token, "no-such-token"))).toBe("VALIDATION_ERROR");
  await platform.advance(48 * 3_600_000);
  const { token: later } = await identity().createToken({ email: EMAIL, password: PASSWORD }, platform.as("anonymous"));
  expect(await outcomeOf(verify(later, link))).toBe("VALIDATION_ERROR");
  await identity().sendVerificationMail({}, withToken(later));
  expect(await outcomeOf(verify(later, mailedToken()))).toBe("ok");
});

test("on an exposed deployment, one address requests at most 10 verification mails per hour", async () => {
  await open({ ...WITH_MAIL, TRUST_PROXY: "loopback" });
  const { token } = await signUp();
  const request = (ip: string) => outcomeOf(identity().sendVerificationMail({}, withToken(token, { "x-client-ip": ip })));
  const outcomes: string[] = [];
  for (let index = 0; index < 11; index++) outcomes.push(await request("192.0.2.1"));
  expect(outcomes).toEqual([...Array(10).fill("ok"), "RATE_LIMIT_EXCEEDED"]);
  expect(await request("192.0.2.2")).toBe("ok");
});

describe("an invitation verifies the address if its token came by mail, which the inviter cannot see", () => {
  const invite = async (email: string) => {
    const request = { teamId: platform.team.id, email, role: "member" };
    const { invitationLink = "" } = await teamsHandlers(platform.deps).inviteMember(request, platform.as("owner"));
    return { shown: new URL(invitationLink).searchParams.get("token") ?? "", mailed: mailedToken() };
  };
  beforeEach(() => open(WITH_MAIL));

  test("at sign-up", async () => {
    const { shown } = await invite(EMAIL);
    expect(await facts((await signUp(EMAIL, { inviteToken: shown })).token)).toEqual([false, true, 0n]);
    const { mailed } = await invite("other@example.org");
    expect(await facts((await signUp("other@example.org", { inviteToken: mailed })).token)).toEqual([true, false, 1000n]);
  });

  test.each([
    ["shown", [false, true, 0n]],
    ["mailed", [true, false, 1000n]],
  ] as const)("when an account accepts it with the token that was %s", async (which, expected) => {
    const { token } = await signUp();
    const accept = (given: string) => teamsHandlers(platform.deps).acceptInvitation({ token: given }, withToken(token));
    const tokens = await invite(EMAIL);
    expect(await outcomeOf(accept(tokens[which]))).toBe("ok");
    expect(await facts(token)).toEqual(expected);
    expect(await outcomeOf(accept(tokens.mailed))).toBe("NOT_FOUND");
  });

  test("and not with a guessed end of the token", async () => {
    const { shown } = await invite(EMAIL);
    expect(await facts((await signUp(EMAIL, { inviteToken: `${shown}.guessed` })).token)).toEqual([false, true, 0n]);
  });
});
