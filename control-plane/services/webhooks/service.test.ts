import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { webhooksHandlers } from "./service.ts";

let platform: Platform;
const open = async (environment: Record<string, string> = {}) => {
  await platform?.close();
  platform = await openPlatform(environment);
};
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const webhooks = () => webhooksHandlers(platform.deps);
const create = (who: Who, changes: { url?: string; events?: string[] } = {}) =>
  webhooks().createWebhook({ url: "https://example.org/hook", events: ["key.created"], ...changes }, platform.as(who));
const idOf = async (who: Who) => (await create(who)).webhook?.id ?? "";

const MANAGERS_ONLY = { owner: "ok", manager: "ok", lead: "FORBIDDEN", member: "FORBIDDEN", colleague: "FORBIDDEN" };

test("owners and admins of an organization create webhooks", async () => {
  expect(await platform.outcomes((_context, who) => create(who))).toEqual({
    ...MANAGERS_ONLY,
    anonymous: "UNAUTHORIZED",
    operator: "ok",
    stranger: "ok",
  });
});

test.each([
  ["testWebhook", "id"],
  ["deleteWebhook", "id"],
  ["listDeliveries", "webhookId"],
] as const)("%s of a webhook of another organization is NOT_FOUND, of the own one for owners and admins", async (method, field) => {
  const outcomes = await platform.outcomes(async (context) => {
    const request = { id: "", webhookId: "", page: undefined, [field]: await idOf("owner") };
    return webhooks()[method](request, context);
  });
  expect(outcomes).toEqual({ ...MANAGERS_ONLY, anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", stranger: "NOT_FOUND" });
});

test.each([
  ["an http address of an exposed platform", { url: "http://example.org" }],
  ["a private address of an exposed platform", { url: "https://10.0.0.1" }],
  ["an address with a password", { url: "https://user:secret@example.org" }],
  ["no event", { events: [] }],
  ["an unknown event", { events: ["key.created", "moon.full"] }],
])("a webhook with %s is refused", async (_name, changes) => {
  await open({ PUBLIC_URL: "https://gateway.example.org" });
  expect(await outcomeOf(create("owner", changes))).toBe("VALIDATION_ERROR");
});

test("an organization has at most 20 webhooks", async () => {
  for (let count = 0; count < 20; count++) await create("owner");
  expect(await outcomeOf(create("owner"))).toBe("VALIDATION_ERROR");
  expect(await outcomeOf(create("stranger"))).toBe("ok");
});

test("the secret is returned once and stored encrypted", async () => {
  const { secret, webhook } = await create("owner");
  const { webhooks: listed } = await webhooks().listWebhooks({ page: undefined }, platform.as("owner"));
  const stored = await platform.deps.store.get("webhooks", webhook?.id ?? "");
  expect(JSON.stringify([listed, stored], (_name, value) => (typeof value === "bigint" ? Number(value) : value))).not.toContain(secret);
  expect(platform.deps.secrets.open(stored?.sealedSecret ?? "").toString()).toBe(secret);
});

test("deleting a webhook cancels its pending deliveries", async () => {
  const id = await idOf("owner");
  await webhooks().testWebhook({ id }, platform.as("owner"));
  expect(await platform.deps.store.count("deliveries")).toBe(1);
  await webhooks().deleteWebhook({ id }, platform.as("owner"));
  expect(await platform.deps.store.count("deliveries")).toBe(0);
});

test("on an exposed deployment one address tests webhooks and alerts 100 times an hour; refused ones do not count", async () => {
  await open({ TRUST_PROXY: "loopback" });
  const id = await idOf("owner");
  const ask = (who: Who) => outcomeOf(webhooks().testWebhook({ id }, platform.as(who)));
  expect(await ask("stranger")).toBe("NOT_FOUND");
  for (let index = 0; index < 100; index++) expect(await ask("owner")).toBe("ok");
  expect(await ask("owner")).toBe("RATE_LIMIT_EXCEEDED");
  expect(await platform.deps.store.count("deliveries")).toBe(100);
});
