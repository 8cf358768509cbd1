import type { AlertSettings } from "../../../proto/gen/tributary/alerts/v1/alerts.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { alertsHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const alerts = () => alertsHandlers(platform.deps);
const ERRORS: AlertSettings = { name: "errors", threshold: { errorRate: 500n } };
const SLACK = "https://hooks.slack.example/services/T0/B0/s3cret";
const create = (who: Who, settings: AlertSettings = ERRORS) => alerts().createAlert({ settings }, platform.as(who));
const idOf = async (who: Who, settings?: AlertSettings) => (await create(who, settings)).alert?.id ?? "";

const MANAGERS_ONLY = { owner: "ok", manager: "ok", lead: "FORBIDDEN", member: "FORBIDDEN", colleague: "FORBIDDEN" };

test("owners and admins of an organization create alerts", async () => {
  expect(await platform.outcomes((_context, who) => create(who))).toEqual({
    ...MANAGERS_ONLY,
    anonymous: "UNAUTHORIZED",
    operator: "ok",
    stranger: "ok",
  });
});

test.each([
  ["updateAlert", "id"],
  ["testAlert", "id"],
  ["deleteAlert", "id"],
  ["listAlertDeliveries", "alertId"],
] as const)("%s of an alert of another organization is NOT_FOUND, of the own one for owners and admins", async (method, field) => {
  const outcomes = await platform.outcomes(async (context) => {
    const request = { id: "", alertId: "", page: undefined, settings: {}, [field]: await idOf("owner") };
    return alerts()[method](request, context);
  });
  expect(outcomes).toEqual({ ...MANAGERS_ONLY, anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", stranger: "NOT_FOUND" });
});

test.each<[string, AlertSettings, string]>([
  ["no name", { threshold: { errorRate: 1n } }, "VALIDATION_ERROR"],
  ["no threshold", { name: "a" }, "VALIDATION_ERROR"],
  ["two thresholds", { name: "a", threshold: { errorRate: 1n, spend: 1n } }, "VALIDATION_ERROR"],
  ["an error rate above 100 percent", { name: "a", threshold: { errorRate: 10_001n } }, "VALIDATION_ERROR"],
  ["a latency above the histogram", { name: "a", threshold: { latencyP95Ms: 60_001n } }, "VALIDATION_ERROR"],
  ["a window that is no multiple of 15 minutes", { ...ERRORS, windowMinutes: 20 }, "VALIDATION_ERROR"],
  ["an unknown period", { ...ERRORS, period: "year" }, "VALIDATION_ERROR"],
  ["a Slack URL of the metadata service", { ...ERRORS, slackUrl: "https://169.254.169.254/" }, "VALIDATION_ERROR"],
  ["a team that does not exist", { ...ERRORS, teamId: "team_none" }, "NOT_FOUND"],
])("an alert with %s is refused", async (_name, settings, outcome) => {
  expect(await outcomeOf(create("owner", settings))).toBe(outcome);
});

test("a private Slack URL of an exposed platform is refused", async () => {
  await platform.close();
  platform = await openPlatform({ PUBLIC_URL: "https://gateway.example.org" });
  for (const slackUrl of ["https://10.0.0.1/", "http://hooks.slack.example/"])
    expect(await outcomeOf(create("owner", { ...ERRORS, slackUrl }))).toBe("VALIDATION_ERROR");
});

test("an organization has at most 20 alerts", async () => {
  for (let count = 0; count < 20; count++) await create("owner");
  expect(await outcomeOf(create("owner"))).toBe("VALIDATION_ERROR");
  expect(await outcomeOf(create("stranger"))).toBe("ok");
});

test("an update keeps what it does not name, and another metric begins as ok", async () => {
  const id = await idOf("owner", { ...ERRORS, model: "echo", slackUrl: SLACK });
  const stored = await platform.deps.store.get("alerts", id);
  if (stored) await platform.deps.store.transaction("every", (tx) => tx.put("alerts", { ...stored, state: "firing", value: 900n }));
  const update = async (settings: AlertSettings) => (await alerts().updateAlert({ id, settings }, platform.as("owner"))).alert;
  const narrower = await update({ threshold: { errorRate: 100n }, model: "" });
  expect(narrower).toMatchObject({
    name: "errors",
    threshold: { errorRate: 100n },
    slackHost: "hooks.slack.example",
    state: "firing",
    value: 900n,
  });
  expect(narrower?.model).toBeUndefined();
  const other = await update({ threshold: { spend: 5n }, slackUrl: "" });
  expect(other).toMatchObject({ metric: "spend", state: "ok" });
  expect([other?.slackHost, other?.value]).toEqual([undefined, undefined]);
});

test("the Slack URL is stored encrypted and in no answer and no audit line", async () => {
  await create("owner", { ...ERRORS, slackUrl: SLACK });
  const { alerts: listed } = await alerts().listAlerts({ page: undefined }, platform.as("owner"));
  const kept: unknown[] = [listed];
  for await (const alert of platform.deps.store.scan("alerts")) kept.push(alert);
  for await (const line of platform.deps.store.scan("audit")) kept.push(line);
  expect(kept.length).toBeGreaterThan(2);
  expect(JSON.stringify(kept, (_name, value) => (typeof value === "bigint" ? Number(value) : value))).not.toContain("s3cret");
});

test("a test goes to every receiver, and deleting the alert cancels what is pending", async () => {
  const id = await idOf("owner", { ...ERRORS, slackUrl: SLACK });
  const { receivers } = await alerts().testAlert({ id }, platform.as("owner"));
  const { deliveries } = await alerts().listAlertDeliveries({ alertId: id, page: undefined }, platform.as("owner"));
  const { owner, manager } = platform.users;
  expect(deliveries.map(({ type, receiver }) => [type, receiver]).sort()).toEqual(
    [owner.email, manager.email, "slack"].sort().map((receiver) => ["alert.test", receiver]),
  );
  expect(receivers).toBe(deliveries.length);
  await alerts().deleteAlert({ id }, platform.as("owner"));
  expect(await platform.deps.store.count("deliveries")).toBe(0);
});
