import { secretSha256 } from "../../../common/key-shape.ts";
import { callerOfHash } from "../access/callers.ts";
import { keysHandlers } from "../keys/service.ts";
import { openPlatform, outcomeOf, PASSWORD, type Platform } from "../platform-fixture.ts";
import { identityHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const identity = () => identityHandlers(platform.deps);
const idOf = (who: "operator" | "owner" | "lead" | "member") => BigInt(platform.users[who].id);
const login = (email: string, password = PASSWORD) => identity().createToken({ email, password }, platform.as("anonymous"));

test.each(["setUserDisabled", "createPasswordReset"] as const)("%s is for platform admins only", async (method) => {
  const outcomes = await platform.outcomes((context) => identity()[method]({ id: idOf("member"), disabled: true }, context));
  expect(Object.entries(outcomes).filter(([, outcome]) => outcome === "ok")).toEqual([["operator", "ok"]]);
});

test("no admin disables themselves, and a disabled admin does not count as the last one", async () => {
  const set = (id: bigint, disabled: boolean) => identity().setUserDisabled({ id, disabled }, platform.as("operator"));
  expect(await outcomeOf(set(idOf("operator"), true))).toBe("VALIDATION_ERROR");
  await identity().updateUser({ id: idOf("owner"), role: "admin" }, platform.as("operator"));
  expect(await outcomeOf(set(idOf("owner"), true))).toBe("ok");
  const demote = () => identity().updateUser({ id: idOf("operator"), role: "user" }, platform.as("operator"));
  expect(await outcomeOf(demote())).toBe("VALIDATION_ERROR");
  await set(idOf("owner"), false);
  expect(await outcomeOf(demote())).toBe("ok");
});

test("disabling a user again does not stop keys that others rotated since", async () => {
  const keys = keysHandlers(platform.deps);
  const made = await keys.createKey({ name: "k", teamId: platform.team.id, limits: undefined }, platform.as("member"));
  const reference = made.apiKey?.id ?? "";
  const disable = (disabled = true) => identity().setUserDisabled({ id: idOf("member"), disabled }, platform.as("operator"));
  expect(await disable()).toMatchObject({ keys: 1 });
  const { key: secret } = await keys.rotateKey({ reference, graceSeconds: 0 }, platform.as("owner"));
  const isAdmitted = async () => (await callerOfHash(platform.deps, platform.deps.secrets.keyHash(secretSha256(secret)))) !== undefined;
  const before = await isAdmitted();
  expect(await disable()).toMatchObject({ keys: 0 });
  expect([before, await isAdmitted()]).toEqual([true, true]);
});

test("a key that a disabled user rotated is disabled with the user, and enabled again only if its creator may use it", async () => {
  const keys = keysHandlers(platform.deps);
  const made = await keys.createKey({ name: "k", teamId: platform.team.id, limits: undefined }, platform.as("member"));
  const { key: secret } = await keys.rotateKey({ reference: made.apiKey?.id ?? "", graceSeconds: 0 }, platform.as("owner"));
  const isAdmitted = async () => (await callerOfHash(platform.deps, platform.deps.secrets.keyHash(secretSha256(secret)))) !== undefined;
  const set = (who: "owner" | "member", disabled: boolean) =>
    identity().setUserDisabled({ id: idOf(who), disabled }, platform.as("operator"));
  const seen = [await isAdmitted()];
  for (const [who, disabled] of [
    ["owner", true],
    ["member", true],
    ["owner", false],
    ["member", false],
  ] as const) {
    await set(who, disabled);
    seen.push(await isAdmitted());
  }
  expect(seen).toEqual([true, false, false, false, true]);
});

test("a deleted user takes the keys they created along; keys of others that they rotated are disabled", async () => {
  const keys = keysHandlers(platform.deps);
  const made = await keys.createKey({ name: "k", teamId: platform.team.id, limits: undefined }, platform.as("owner"));
  const reference = made.apiKey?.id ?? "";
  await keys.rotateKey({ reference, graceSeconds: 0 }, platform.as("lead"));
  await identity().deleteUser({ id: idOf("lead") }, platform.as("operator"));
  expect(await platform.deps.store.get("keys", reference)).toMatchObject({ disabledAt: platform.deps.clock.now() });
});

test("only the right password is answered with the reason, and it uses up no attempt", async () => {
  await identity().setUserDisabled({ id: idOf("member"), disabled: true }, platform.as("operator"));
  for (let attempt = 0; attempt < 15; attempt++) expect(await outcomeOf(login("member@example.org"))).toBe("FORBIDDEN");
  expect(await outcomeOf(login("member@example.org", "wrong"))).toBe("UNAUTHORIZED");
  expect(await outcomeOf(identity().getMe({}, platform.as("member")))).toBe("UNAUTHORIZED");
});

test.each(["resetPassword", "changePassword", "setUserDisabled"] as const)(
  "%s ends all reset links of the user, and of no other",
  async (by) => {
    const tokenFor = async (who: "owner" | "member") => {
      const { link = "" } = await identity().createPasswordReset({ id: idOf(who) }, platform.as("operator"));
      return new URL(link).searchParams.get("token") ?? "";
    };
    const reset = (resetToken: string, newPassword = "another long password") =>
      identity().resetPassword({ resetToken, newPassword }, platform.as("anonymous"));
    const tokens = [await tokenFor("member"), await tokenFor("member"), await tokenFor("member")];
    const others = await tokenFor("owner");
    if (by === "resetPassword") await reset(tokens.pop() ?? "");
    if (by === "changePassword") {
      await identity().changePassword({ currentPassword: PASSWORD, newPassword: "another long password" }, platform.as("member"));
    }
    if (by === "setUserDisabled") await identity().setUserDisabled({ id: idOf("member"), disabled: true }, platform.as("operator"));
    for (const token of tokens) expect(await outcomeOf(reset(token, "a third long password"))).toBe("VALIDATION_ERROR");
    expect(await outcomeOf(reset(others))).toBe("ok");
  },
);

test("a reset link works once; where mail is configured it is mailed and not answered", async () => {
  const { link = "" } = await identity().createPasswordReset({ id: idOf("member") }, platform.as("operator"));
  const resetToken = new URL(link).searchParams.get("token") ?? "";
  const reset = () => identity().resetPassword({ resetToken, newPassword: "another long password" }, platform.as("anonymous"));
  expect([await outcomeOf(reset()), await outcomeOf(reset())]).toEqual(["ok", "VALIDATION_ERROR"]);
  expect(await outcomeOf(login("member@example.org", "another long password"))).toBe("ok");
  expect(platform.mails).toEqual([]);

  const mailing = await openPlatform({ SMTP_URL: "smtp://127.0.0.1:25" });
  const answer = await identityHandlers(mailing.deps).createPasswordReset({ id: BigInt(mailing.users.member.id) }, mailing.as("operator"));
  expect(answer.link).toBeUndefined();
  expect(mailing.mails).toMatchObject([{ to: "member@example.org", text: expect.stringContaining("/ui/reset-password?token=") }]);
  await mailing.close();
});
