import { AppError } from "../../../common/errors.ts";
import { secretSha256 } from "../../../common/key-shape.ts";
import { removeExpired } from "../../jobs/remove-expired.ts";
import { reportedCall, settle } from "../../proof/ledger-fixture.ts";
import { collect } from "../../stores/page.ts";
import { callerOfHash } from "../access/callers.ts";
import { keysHandlers } from "../keys/service.ts";
import { organizationsHandlers } from "../organizations/service.ts";
import { NOW, openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { contentsHandlers } from "./service.ts";

const DAY_MS = 24 * 3_600_000;
const PROMPT = '{"messages":[{"role":"user","content":"the secret plan"}]}';

let platform: Platform;
let keyId: string;
let secret: string;
beforeEach(async () => {
  platform = await openPlatform();
  const created = await keys().createKey({ name: "k", teamId: platform.team.id, limits: undefined }, platform.as("member"));
  [keyId, secret] = [created.apiKey?.id ?? "", created.key];
  const row = { organizationId: platform.organization.id, teamId: platform.team.id, apiKeyId: keyId, createdAt: NOW };
  await settle(platform.deps.store, [reportedCall("call_1", 10n, { ...row, userId: platform.users.member.id })]);
});
afterEach(() => platform.close());

const keys = () => keysHandlers(platform.deps);
const contents = () => contentsHandlers(platform.deps);
type Setting = { logContent?: boolean; logContentDays?: number };
const setOrganization = (setting: Setting, who: Who = "owner") =>
  organizationsHandlers(platform.deps).updateOrganization(
    { id: platform.organization.id, clearLowBalanceThreshold: false, clearSemanticCache: false, activate: false, ...setting },
    platform.as(who),
  );
const setKey = (setting: Setting, { who = "owner" as Who, clear = [] as string[] } = {}) =>
  keys().updateKey({ reference: keyId, limits: { clear, ...setting } }, platform.as(who));
const store = (prompt = PROMPT) =>
  contents().storeContents(
    {
      contents: [
        {
          callId: "call_1",
          organizationId: platform.organization.id,
          keyId,
          createdAt: new Date(NOW),
          content: { prompt, promptTruncated: false, answer: '{"text":"done"}', answerTruncated: true },
        },
      ],
    },
    platform.as("anonymous"),
  );
const read = (who: Who = "owner") => contents().getContent({ callId: "call_1" }, platform.as(who));
const whyNot = async () => {
  const thrown = await read().catch((error: unknown) => error);
  return thrown instanceof AppError ? `${thrown.code} ${thrown.message}` : "read";
};
const isLogged = async () => (await callerOfHash(platform.deps, platform.deps.secrets.keyHash(secretSha256(secret))))?.logContent;
const stored = () => collect(platform.deps.store.scan("callContents"));

test("by default nothing is stored, whatever an edge sends, and the answer says why", async () => {
  expect(await isLogged()).toBe(false);
  expect(await store()).toEqual({ stored: 0, refused: 1 });
  expect(await stored()).toEqual([]);
  expect(await whyNot()).toMatch(/^NOT_FOUND .*logContent is off/);
});

test("the store has prompt and answer sealed only; a read returns them", async () => {
  await setOrganization({ logContent: true });
  expect(await whyNot()).toMatch(/^NOT_FOUND .*before logContent was on/);
  expect(await store()).toEqual({ stored: 1, refused: 0 });
  expect(JSON.stringify(await stored())).not.toMatch(/secret plan|done/);
  expect(await read()).toMatchObject({
    content: { prompt: PROMPT, promptTruncated: false, answer: '{"text":"done"}', answerTruncated: true },
    createdAt: new Date(NOW),
    expiresAt: new Date(NOW + 30 * DAY_MS),
  });
});

test("owners, admins and the key's creator read, each read is in the audit log, and other organizations find nothing", async () => {
  await setOrganization({ logContent: true });
  await store();
  const other = reportedCall("call_2", 1n, { organizationId: platform.organization.id, teamId: platform.team.id, apiKeyId: keyId });
  await settle(platform.deps.store, [{ ...other, userId: platform.users.owner.id }]);
  const outsiders = { anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", stranger: "NOT_FOUND", colleague: "NOT_FOUND" };
  const readers = { owner: "ok", manager: "ok", lead: "ok", member: "ok" };
  expect(await platform.outcomes((_context, who) => read(who))).toEqual({ ...outsiders, ...readers });
  const ofOwner = await platform.outcomes((context) => contents().getContent({ callId: "call_2" }, context));
  expect(ofOwner.member).toBe("FORBIDDEN");
  const lines = (await collect(platform.deps.store.scan("audit"))).filter(({ action }) => action === "content.read");
  const { owner, manager, lead, member } = platform.users;
  expect(lines.map(({ actorId, target }) => [actorId, target])).toEqual([owner, manager, lead, member].map(({ id }) => [id, "call_1"]));
});

test.each<[string, Setting, Setting, boolean, number]>([
  ["a key alone", {}, { logContent: true }, true, 30],
  ["a key with its own days", { logContent: true, logContentDays: 60 }, { logContentDays: 1 }, true, 1],
  ["a key with the organization's days", { logContent: true, logContentDays: 60 }, {}, true, 60],
  ["a key that opts out", { logContent: true }, { logContent: false }, false, 30],
])("the setting of %s", async (_name, organization, key, isStored, days) => {
  if (Object.keys(organization).length > 0) await setOrganization(organization);
  await setKey(key);
  expect(await isLogged()).toBe(isStored);
  expect((await store()).stored).toBe(isStored ? 1 : 0);
  expect((await stored()).map(({ expiresAt }) => expiresAt)).toEqual(isStored ? [NOW + days * DAY_MS] : []);
});

test("content is kept no longer than the rows of usage, without which nobody can read it", async () => {
  await setOrganization({ logContent: true, logContentDays: 60 });
  const deps = { ...platform.deps, config: { ...platform.deps.config, usageKeptDays: 7 } };
  platform = { ...platform, deps };
  await store();
  expect((await stored()).map(({ expiresAt }) => expiresAt)).toEqual([NOW + 7 * DAY_MS]);
  await platform.advance(7 * DAY_MS);
  expect(await whyNot()).toMatch(/^NOT_FOUND .*removed after USAGE_KEPT_DAYS, which is 7\./);
});

test("edges receive each change, and null gives the decision back to the organization", async () => {
  const changes = async () => (await collect(platform.deps.store.scan("feed"))).map(({ kind, subject }) => `${kind} ${subject}`);
  await setOrganization({ logContent: true });
  expect(await changes()).toContain(`organization ${platform.organization.id}`);
  await setKey({ logContent: false });
  await setKey({}, { clear: ["logContent"] });
  expect(await isLogged()).toBe(true);
});

test("only owners and admins of the organization change it, for keys, too", async () => {
  const managers = { owner: "ok", manager: "ok", lead: "FORBIDDEN", member: "FORBIDDEN" };
  const outsiders = { anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", stranger: "NOT_FOUND" };
  const organization = await platform.outcomes((_context, who) => setOrganization({ logContent: true }, who));
  expect(organization).toEqual({ ...outsiders, ...managers, colleague: "FORBIDDEN" });
  const key = await platform.outcomes((_context, who) => setKey({ logContent: true }, { who }));
  expect(key).toEqual({ ...outsiders, ...managers, colleague: "NOT_FOUND" });
  const limits = { logContent: true, clear: [] };
  const created = await platform.outcomes((context) => keys().createKey({ name: "n", teamId: platform.team.id, limits }, context));
  expect([created.manager, created.member]).toEqual(["ok", "FORBIDDEN"]);
});

test.each([0, 91, 1.5])("a retention of %d days is refused", async (logContentDays) => {
  expect(await outcomeOf(setOrganization({ logContentDays }))).toBe("VALIDATION_ERROR");
  expect(await outcomeOf(setKey({ logContentDays }))).toBe("VALIDATION_ERROR");
});

test("after its days a content is neither read nor stored", async () => {
  await setOrganization({ logContent: true, logContentDays: 1 });
  await store();
  await removeExpired(NOW + DAY_MS, platform.deps);
  expect(await stored()).toHaveLength(1);
  await platform.advance(DAY_MS);
  expect(await whyNot()).toMatch(/^NOT_FOUND .*removed after logContentDays, which is 1/);
  await removeExpired(NOW + DAY_MS + 1, platform.deps);
  expect(await stored()).toEqual([]);
});

test("a content that is too long for an edge's limits is refused", async () => {
  await setOrganization({ logContent: true });
  expect(await store("x".repeat(1024 * 1024))).toEqual({ stored: 0, refused: 1 });
});
