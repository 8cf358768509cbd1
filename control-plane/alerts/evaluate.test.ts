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
const judge = () => evaluator.run();
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
  await new AlertEvaluator({ ...platform.deps, store: other }).run();
  expect([(await alert(id))?.state, await messages()]).toEqual(["ok", {}]);
  await Promise.all([evaluator.run(), new AlertEvaluator(platform.deps).run()]);
  expect([(await alert(id))?.state, await messages()]).toEqual(["firing", { "alert.firing": 2 }]);
});

/** A store whose scans of roll-ups are counted, and that calls `onRollup` before each roll-up. */
function watchedStore(onRollup: () => void) {
  const { store } = platform.deps;
  const froms: unknown[] = [];
  const scan: typeof store.scan = (collection, range) => {
    if (collection !== "rollups") return store.scan(collection, range);
    froms.push(range?.from);
    const records = store.scan(collection, range);
    return (async function* () {
      for await (const record of records) {
        onRollup();
        yield record;
      }
    })();
  };
  const watched = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = name === "scan" ? scan : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { watched, froms };
}

test("a sweep scans the roll-ups of an organization once for all its alerts, and closed quarters once an hour", async () => {
  await create({ threshold: { spend: 1_000n }, period: "month" });
  await create({ threshold: { errorRate: 2_000n } });
  await create({ threshold: { latencyP95Ms: 2_000n }, windowMinutes: 60 });
  await platform.advance(5 * 60 * MINUTE);
  const { watched, froms } = watchedStore(() => undefined);
  const counted = new AlertEvaluator({ ...platform.deps, store: watched });
  await counted.run();
  await counted.run();
  expect(froms).toEqual([Date.UTC(new Date(NOW).getUTCFullYear(), new Date(NOW).getUTCMonth()), now() - 120 * MINUTE]);
});

test("a sweep ends when the control plane stops, within an organization", async () => {
  const id = await create({ threshold: { spend: 1n } });
  await call(1, { cost: 5n });
  const stop = new AbortController();
  const { watched } = watchedStore(() => stop.abort());
  const stopped = new AlertEvaluator({ ...platform.deps, store: watched });
  await stopped.run(stop.signal);
  expect([(await alert(id))?.state, await messages()]).toEqual(["ok", {}]);
  await stopped.run();
  expect((await alert(id))?.state).toBe("firing");
});

test("a scan that takes too long ends, and the next sweep continues after the quarters that it read", async () => {
  const id = await create({ threshold: { spend: 300n }, period: "month" });
  for (let index = 0; index < 300; index++) await call(1, { cost: 1n, createdAt: NOW + index * 15 * MINUTE });
  await platform.advance(90 * 60 * MINUTE);
  let millis = 0;
  const { watched, froms } = watchedStore(() => {
    millis += 25;
  });
  const clock = { ...platform.deps.clock, now, monotonicMs: () => millis };
  const slow = new AlertEvaluator({ ...platform.deps, clock, store: watched });
  await slow.run();
  expect((await alert(id))?.checkedAt).toBeUndefined();
  await slow.run();
  expect(await alert(id)).toMatchObject({ state: "firing", value: 300n });
  expect(Number(froms[1])).toBeGreaterThan(NOW + 60 * 60 * MINUTE);
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
