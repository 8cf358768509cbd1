import type { AlertSettings } from "../../proto/gen/tributary/alerts/v1/alerts.ts";
import type { Mail } from "../mail/mailer.ts";
import { reportedCall, settle } from "../proof/ledger-fixture.ts";
import { alertsHandlers } from "../services/alerts/service.ts";
import { NOW, openPlatform, type Platform } from "../services/platform-fixture.ts";
import { webhooksHandlers } from "../services/webhooks/service.ts";
import { collect } from "../stores/page.ts";
import { Deliverer } from "../webhooks/deliver.ts";
import type { WebhookRequest } from "../webhooks/send-webhook.ts";
import { AlertEvaluator } from "./evaluate.ts";

let platform: Platform;
let evaluator: AlertEvaluator;
let calls = 0;
beforeEach(async () => {
  platform = await openPlatform();
  evaluator = new AlertEvaluator(platform.deps);
});
afterEach(() => platform.close());

const MINUTE = 60_000;
const now = () => platform.deps.clock.now();
const judge = () => evaluator.run(now());
const create = async (settings: AlertSettings) =>
  (await alertsHandlers(platform.deps).createAlert({ settings: { name: "watched", ...settings } }, platform.as("owner"))).alert?.id ?? "";
const alert = (id: string) => platform.deps.store.get("alerts", id);

async function call(count: number, { cost = 0n, ...changes }: Partial<Parameters<typeof reportedCall>[2]> & { cost?: bigint } = {}) {
  const { organization, team } = platform;
  const fields = { organizationId: organization.id, teamId: team.id, createdAt: now(), ...changes };
  await settle(
    platform.deps.store,
    Array.from({ length: count }, () => reportedCall(`call_${calls++}`, cost, fields)),
  );
}

/** Types of the messages so far, and how many of each. */
async function messages(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { type } of await collect(platform.deps.store.scan("deliveries"))) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

test("an error rate fires once and resolves once, with one message each for every receiver", async () => {
  const id = await create({ threshold: { errorRate: 2_000n }, email: false, slackUrl: "https://hooks.slack.example/s3cret" });
  await webhooksHandlers(platform.deps).createWebhook(
    { url: "https://example.org/hook", events: ["alert.firing", "alert.resolved"] },
    platform.as("owner"),
  );
  await call(8);
  await call(1, { status: "error" });
  await judge();
  expect((await alert(id))?.state).toBe("ok");
  await call(2, { status: "error" });
  await judge();
  await judge();
  expect(await alert(id)).toMatchObject({ state: "firing", since: NOW, value: 2_727n });
  expect(await messages()).toEqual({ "alert.firing": 2 });
  await platform.advance(MINUTE);
  await call(5);
  await judge();
  expect([(await alert(id))?.state, await messages()]).toEqual(["firing", { "alert.firing": 2 }]);
  await call(20);
  await judge();
  await judge();
  expect(await alert(id)).toMatchObject({ state: "ok", since: NOW + MINUTE });
  expect(await messages()).toEqual({ "alert.firing": 2, "alert.resolved": 2 });
  const audited = (await collect(platform.deps.store.scan("audit"))).filter(
    ({ target, actorKind }) => target === id && actorKind === "system",
  );
  expect(audited.map(({ action }) => action)).toEqual(["alert.firing", "alert.resolved"]);
});

test("calls of other models, teams and organizations, refused calls and calls before the window do not count", async () => {
  const id = await create({ threshold: { errorRate: 1n }, model: "echo", teamId: platform.team.id, minRequests: 1 });
  await call(20, { status: "error", createdAt: NOW - 45 * MINUTE });
  await call(20, { status: "error", model: "other" });
  await call(20, { status: "error", teamId: "team_other" });
  await call(20, { status: "error", organizationId: "org_other" });
  await call(20, { status: "refused" });
  await judge();
  expect(await alert(id)).toMatchObject({ state: "ok" });
  expect((await alert(id))?.value).toBeUndefined();
  await call(1, { status: "error" });
  await judge();
  expect(await alert(id)).toMatchObject({ state: "firing", value: 10_000n });
});

test("with fewer calls than minRequests an alert does not fire, and one that fires resolves when its window is empty", async () => {
  const id = await create({ threshold: { latencyP95Ms: 1_000n } });
  await call(9, { latencyMs: 30_000 });
  await judge();
  expect((await alert(id))?.state).toBe("ok");
  await call(1, { latencyMs: 30_000 });
  await judge();
  expect((await alert(id))?.state).toBe("firing");
  await platform.advance(45 * MINUTE);
  await judge();
  expect((await alert(id))?.state).toBe("ok");
});

test("spend is that of the day or month, exact over hours, and resolves when the next period begins", async () => {
  const daily = await create({ threshold: { spend: 100n } });
  const monthly = await create({ threshold: { spend: 250n }, period: "month" });
  const states = async () => [(await alert(daily))?.state, (await alert(monthly))?.state];
  await call(1, { cost: 60n });
  await judge();
  expect(await states()).toEqual(["ok", "ok"]);
  await platform.advance(5 * 60 * MINUTE);
  await call(1, { cost: 40n });
  await judge();
  expect(await states()).toEqual(["firing", "ok"]);
  await platform.advance(24 * 60 * MINUTE);
  await call(1, { cost: 50n });
  await judge();
  expect(await states()).toEqual(["ok", "ok"]);
  expect(await alert(monthly)).toMatchObject({ value: 150n });
  // A call of the first day that settles late is counted within an hour.
  await call(1, { cost: 100n, createdAt: NOW + MINUTE });
  await platform.advance(61 * MINUTE);
  await judge();
  expect(await states()).toEqual(["ok", "firing"]);
});

test("a control plane that does not own the organization's slot judges nothing", async () => {
  const id = await create({ threshold: { spend: 1n } });
  await call(1, { cost: 5n });
  const { store } = platform.deps;
  const other = new Proxy(store, { get: (target, name) => (name === "owns" ? () => false : Reflect.get(target, name, target)) });
  await new AlertEvaluator({ ...platform.deps, store: other }).run(now());
  expect([(await alert(id))?.state, await messages()]).toEqual(["ok", {}]);
  await Promise.all([evaluator.run(now()), new AlertEvaluator(platform.deps).run(now())]);
  expect([(await alert(id))?.state, await messages()]).toEqual(["firing", { "alert.firing": 2 }]);
});

test("messages reach mail and Slack, and a name cannot become markup there", async () => {
  await create({ name: "<!channel> & co", threshold: { spend: 1_000_000_000n }, slackUrl: "https://hooks.slack.example/s3cret" });
  await call(1, { cost: 2_500_000_000n });
  await judge();
  const sent: WebhookRequest[] = [];
  const mails: Mail[] = [];
  const deliverer = new Deliverer({
    ...platform.deps,
    mailer: { send: async (mail) => mails.push(mail) > 0 },
    sendWebhook: async (request) => {
      sent.push(request);
      return { kind: "answered", status: 200 };
    },
  });
  await deliverer.begin();
  await deliverer.idle();
  expect(sent).toEqual([
    {
      url: "https://hooks.slack.example/s3cret",
      headers: expect.objectContaining({ "content-type": "application/json" }),
      body: expect.any(String),
    },
  ]);
  const { text } = JSON.parse(sent[0]?.body ?? "");
  expect(text).toMatch(
    /^\*Alert firing: &lt;!channel&gt; &amp; co \(.*\)\*\nSpend of this day \(UTC\), threshold 1\.00 USD\. It is 2\.50 USD now\.$/,
  );
  expect(mails.map(({ to }) => to).sort()).toEqual([platform.users.owner.email, platform.users.manager.email].sort());
  expect(mails[0]).toMatchObject({
    subject: expect.stringMatching(/^Alert firing: <!channel> & co/),
    text: expect.stringContaining("2.50 USD now"),
  });
});
