import { type AlertRecord, isNews, judged } from "./alerts.ts";

const alert: AlertRecord = {
  id: "alert_1",
  organizationId: "org_1",
  name: "errors",
  metric: "error_rate",
  threshold: 500n,
  windowMinutes: 15,
  period: "day",
  minRequests: 10,
  email: true,
  state: "ok",
  since: 1,
  createdBy: 1,
  createdAt: 1,
  updatedAt: 1,
};
const firing: AlertRecord = { ...alert, state: "firing", since: 5, value: 600n, checkedAt: 5 };

test.each([
  ["below the threshold is ok", alert, 499n, "ok"],
  ["the threshold fires", alert, 500n, "firing"],
  ["just below the threshold a firing alert goes on", firing, 450n, "firing"],
  ["a tenth below it resolves", firing, 449n, "ok"],
  ["too few calls resolve", firing, undefined, "ok"],
])("%s", (_name, before, value, state) => {
  const after = judged(before, value, 9);
  expect(after).toMatchObject({ state, since: state === before.state ? before.since : 9, checkedAt: 9 });
  expect(after.value).toBe(value);
});

test("a change of state is written at once, a value every five minutes and only if it differs", () => {
  expect(isNews(alert, judged(alert, 900n, 9), 9)).toBe(true);
  expect(isNews(alert, judged(alert, 1n, 9), 9)).toBe(true);
  const known = judged(alert, 1n, 9);
  expect(isNews(known, judged(known, 2n, 300_008), 300_008)).toBe(false);
  expect(isNews(known, judged(known, 2n, 300_009), 300_009)).toBe(true);
  expect(isNews(known, judged(known, 1n, 900_000), 900_000)).toBe(false);
});
