import { silentLogger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { readControlConfig } from "../config.ts";
import { deriveSecrets } from "../crypto/secrets.ts";
import type { Webhook } from "../domain/webhook-records.ts";
import type { Mail } from "../mail/mailer.ts";
import { collect } from "../stores/page.ts";
import { openTestStore } from "../stores/test-store.ts";
import { notify } from "../writes/notices.ts";
import { Deliverer } from "./deliver.ts";
import { expandNotices } from "./expand-notices.ts";
import type { WebhookAnswer, WebhookRequest } from "./send-webhook.ts";

const { store, close } = openTestStore();
afterAll(close);

let now = 1_000_000;
let answer: (request: WebhookRequest) => Promise<WebhookAnswer>;
let sent: WebhookRequest[] = [];
let mails: Mail[] = [];
const secrets = deriveSecrets(Buffer.alloc(32), systemRandom);
const deps = {
  store,
  clock: { now: () => now, monotonicMs: () => now, sleep: async () => {}, after: () => () => {} },
  random: systemRandom,
  logger: silentLogger,
  secrets,
  config: readControlConfig({}),
  mailer: { send: async (mail: Mail) => mails.push(mail) > 0 },
  sendWebhook: (request: WebhookRequest) => {
    sent.push(request);
    return answer(request);
  },
};
const webhook = (id: string, organizationId: string): Webhook => ({
  id,
  organizationId,
  url: `https://${id}.example.org/`,
  events: ["key.created", "balance.low"],
  sealedSecret: secrets.seal(Buffer.from("whsec_AAAA")),
  createdBy: 1,
  createdAt: 1,
});
const ok = async (): Promise<WebhookAnswer> => ({ kind: "answered", status: 200 });
const notice = (organizationId: string, type: "key.created" | "key.removed" | "balance.low", data = {}) =>
  store.transaction("every", (tx) => notify(tx, { organizationId, type, data }, now));
const tick = async (deliverer = new Deliverer(deps)) => {
  await expandNotices(deps);
  await deliverer.begin();
  await deliverer.idle();
};
const log = () => collect(store.scan("deliveries"));

beforeAll(() =>
  store.transaction("every", async (tx) => {
    const user = { name: "n", role: "user", organizationId: "org_1", passwordHash: "", createdAt: 1 } as const;
    await tx.insert("users", { ...user, id: 1, email: "owner@example.org" });
    await tx.insert("users", { ...user, id: 2, email: "member@example.org" });
    await tx.insert("organizationMembers", { id: "org_1/1", organizationId: "org_1", userId: 1, role: "owner", joinedAt: 1 });
    await tx.insert("organizationMembers", { id: "org_1/2", organizationId: "org_1", userId: 2, role: "member", joinedAt: 1 });
    for (const id of ["wh_1", "wh_2"]) await tx.insert("webhooks", webhook(id, "org_1"));
    await tx.insert("webhooks", webhook("wh_other", "org_2"));
  }),
);
beforeEach(async () => {
  [answer, sent, mails] = [ok, [], []];
  for (const { id } of await log()) await store.transaction("every", (tx) => tx.remove("deliveries", id));
});

test("an event is sent once to every webhook of the organization that subscribed to it, and to no other", async () => {
  await notice("org_1", "key.created", { amount: 9_007_199_254_740_993n });
  await notice("org_1", "key.removed");
  await tick();
  await tick();
  expect(sent.map(({ url }) => url).sort()).toEqual(["https://wh_1.example.org/", "https://wh_2.example.org/"]);
  expect(sent[0]?.body).toBe(
    '{"type":"key.created","timestamp":"1970-01-01T00:16:40.000Z","data":{"organizationId":"org_1","amount":9007199254740993}}',
  );
  expect(await collect(store.scan("notices"))).toEqual([]);
  expect((await log()).map(({ status, attempts }) => [status, attempts])).toEqual([
    ["delivered", 1],
    ["delivered", 1],
  ]);
});

test("a low balance is also mailed, once, to those who manage the organization", async () => {
  await notice("org_1", "balance.low", { balanceUsd: "0.50", thresholdUsd: "1.00" });
  await tick();
  await tick();
  expect(mails).toEqual([{ to: "owner@example.org", subject: expect.any(String), text: expect.stringMatching(/0\.50 USD.*1\.00 USD/) }]);
});

test("what fails is tried again when it is due, under the same id and newly signed, until it is taken", async () => {
  let up = false;
  answer = async () => ({ kind: "answered", status: up ? 200 : 500 });
  await notice("org_2", "key.created");
  await tick();
  await tick();
  expect(sent).toHaveLength(1);
  expect(await log()).toMatchObject([{ status: "pending", attempts: 1, httpStatus: 500, error: "answered 500" }]);
  [up, now] = [true, now + 10_000];
  await tick();
  expect(sent).toHaveLength(2);
  expect(sent[1]?.headers["webhook-id"]).toBe(sent[0]?.headers["webhook-id"]);
  expect(sent[1]?.headers["webhook-timestamp"]).not.toBe(sent[0]?.headers["webhook-timestamp"]);
  const [delivery] = await log();
  expect(delivery).toMatchObject({ status: "delivered", attempts: 2, httpStatus: 200, deliveredAt: now });
  expect(delivery?.error).toBeUndefined();
});

test("two control planes send a message once; one that died while sending is followed by another", async () => {
  await notice("org_2", "key.created");
  await expandNotices(deps);
  let release = () => {};
  answer = () => new Promise((resolve) => (release = () => resolve({ kind: "answered", status: 200 })));
  const [dead, alive] = [new Deliverer(deps), new Deliverer(deps)];
  await dead.begin();
  await alive.begin();
  expect(sent).toHaveLength(1);
  now += 61_000;
  answer = ok;
  await tick(alive);
  expect(sent).toHaveLength(2);
  expect(await log()).toMatchObject([{ status: "delivered", attempts: 1 }]);
  release();
  await dead.idle();
  expect(await log()).toMatchObject([{ status: "delivered", attempts: 1 }]);
});

test("a receiver that does not answer holds up its own organization alone", async () => {
  for (let count = 0; count < 20; count++) await notice("org_1", "key.created");
  await expandNotices(deps);
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  answer = async ({ url }) => {
    if (!url.includes("wh_other")) await held;
    return { kind: "answered", status: 200 };
  };
  // It looks at fewer than are due of that organization.
  const deliverer = new Deliverer(deps, { scannedMax: 8 });
  await deliverer.begin();
  expect(sent).toHaveLength(4);
  now += 1;
  await notice("org_2", "key.created");
  await expandNotices(deps);
  for (let second = 0; second < 10; second++) await deliverer.begin();
  expect(sent.filter(({ url }) => url.includes("wh_other"))).toHaveLength(1);
  expect(sent).toHaveLength(5);
  release();
  await deliverer.idle();
});

test("what became of a webhook that was deleted meanwhile is no error", async () => {
  await notice("org_2", "key.created");
  await expandNotices(deps);
  answer = async () => {
    const [delivery] = await log();
    await store.transaction("every", (tx) => tx.remove("deliveries", delivery?.id ?? ""));
    return { kind: "answered", status: 500 };
  };
  await tick();
  expect(await log()).toEqual([]);
});
