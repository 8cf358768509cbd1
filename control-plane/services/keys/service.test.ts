import { secretSha256 } from "../../../common/key-shape.ts";
import { callerOfHash } from "../access/callers.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { keysHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const keys = () => keysHandlers(platform.deps);
const create = (who: Who, metadata = {}) =>
  keys().createKey({ name: "k", teamId: platform.team.id, limits: undefined }, platform.as(who, metadata));
const idOf = async (who: Who) => (await create(who)).apiKey?.id ?? "";
const works = async (secret: string) => {
  const hash = platform.deps.secrets.keyHash(secretSha256(secret));
  return (await callerOfHash(platform.deps, hash)) !== undefined;
};

const NO_ACCESS = { anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", colleague: "NOT_FOUND", stranger: "NOT_FOUND" };

test("every member of a team creates keys in it; for others the team does not exist", async () => {
  expect(await platform.outcomes((_context, who) => create(who))).toEqual({
    ...NO_ACCESS,
    owner: "ok",
    manager: "ok",
    lead: "ok",
    member: "ok",
  });
});

test("the secret is returned once; the store has only its hash", async () => {
  const { key } = await create("member");
  const { apiKeys } = await keys().listKeys({ page: undefined }, platform.as("member"));
  const stored = await platform.deps.store.get("keys", apiKeys[0]?.id ?? "");
  expect(await works(key)).toBe(true);
  expect(JSON.stringify([stored, apiKeys], (_name, value) => (typeof value === "bigint" ? Number(value) : value))).not.toContain(key);
});

test("an admin imports a key that another gateway issued, by its hash and with what it spent; once, and no other user may", async () => {
  const secret = "sk-AbCdEfGhIjKlMnOpQrStUv";
  const request = { name: "old", teamId: platform.team.id, limits: undefined, secretSha256: secretSha256(secret), spend: 1_250_000_000n };
  await platform.deps.store.transaction("every", async (tx) => {
    const owner = await tx.get("users", platform.users.owner.id);
    if (owner) await tx.put("users", { ...owner, role: "admin" });
  });
  expect(await outcomeOf(keys().createKey(request, platform.as("member")))).toBe("FORBIDDEN");
  expect(await works(secret)).toBe(false);
  const { apiKey, key } = await keys().createKey({ ...request, maskedKey: "sk-...StUv" }, platform.as("owner"));
  expect([key, apiKey?.maskedKey, apiKey?.spend]).toEqual(["", "sk-...StUv", 1_250_000_000n]);
  expect(apiKey?.lastUsedAt).toBeUndefined();
  const use = { id: apiKey?.id, organizationId: platform.team.organizationId, spend: 1_250_000_000n };
  expect(await platform.deps.store.get("keyUses", apiKey?.id ?? "")).toEqual(use);
  expect(await works(secret)).toBe(true);
  expect(await outcomeOf(keys().createKey(request, platform.as("owner")))).toBe("ALREADY_EXISTS");
  expect(await outcomeOf(keys().createKey({ ...request, secretSha256: Buffer.alloc(5) }, platform.as("owner")))).toBe("VALIDATION_ERROR");
});

test("a member sees keys of their own teams only, a manager all of the organization, a stranger none", async () => {
  await create("owner");
  const seen = async (who: Who) => (await keys().listKeys({ page: undefined }, platform.as(who))).apiKeys.length;
  expect(await Promise.all((["member", "manager", "colleague", "stranger"] as const).map(seen))).toEqual([1, 1, 0, 0]);
});

test.each(["updateKey", "rotateKey", "removeKey"] as const)("%s of another's key needs a manager of its team", async (method) => {
  const outcomes = await platform.outcomes(async (context) => {
    const reference = await idOf("owner");
    const request = { reference, name: "n", graceSeconds: 0, limits: undefined };
    return keys()[method](request, context);
  });
  expect(outcomes).toEqual({ ...NO_ACCESS, owner: "ok", manager: "ok", lead: "ok", member: "FORBIDDEN" });
});

test("a member changes and removes the keys they created", async () => {
  const reference = await idOf("member");
  expect(await outcomeOf(keys().updateKey({ reference, name: "n", limits: undefined }, platform.as("member")))).toBe("ok");
  expect(await outcomeOf(keys().removeKey({ reference }, platform.as("member")))).toBe("ok");
  expect(await outcomeOf(keys().removeKey({ reference }, platform.as("member")))).toBe("NOT_FOUND");
});

test("after a rotation the old secret is accepted for the grace period, and not longer", async () => {
  const { key: before, apiKey } = await create("owner");
  const { key: after } = await keys().rotateKey({ reference: apiKey?.id ?? "", graceSeconds: 60 }, platform.as("owner"));
  await platform.advance(59_000);
  expect([await works(before), await works(after)]).toEqual([true, true]);
  await platform.advance(1_000);
  expect([await works(before), await works(after)]).toEqual([false, true]);
});

test("the secret of a disabled key gets no grace period: a user who left knows it", async () => {
  const { key: before, apiKey } = await create("member");
  const stored = await platform.deps.store.get("keys", apiKey?.id ?? "");
  if (stored) await platform.deps.store.transaction("every", (tx) => tx.put("keys", { ...stored, disabledAt: platform.deps.clock.now() }));
  expect(await works(before)).toBe(false);
  const { key: after } = await keys().rotateKey({ reference: apiKey?.id ?? "", graceSeconds: 60 }, platform.as("owner"));
  expect([await works(before), await works(after)]).toEqual([false, true]);
});

test("a repeated Idempotency-Key creates one key; with another body, or for another user, it is not the same request", async () => {
  const first = await create("member", { "idempotency-key": "i", "idempotency-hash": "a" });
  const again = await create("member", { "idempotency-key": "i", "idempotency-hash": "a" });
  expect(again).toEqual(first);
  expect(await outcomeOf(create("member", { "idempotency-key": "i", "idempotency-hash": "b" }))).toBe("IDEMPOTENCY_CONFLICT");
  expect((await create("owner", { "idempotency-key": "i", "idempotency-hash": "a" })).key).not.toBe(first.key);
});
