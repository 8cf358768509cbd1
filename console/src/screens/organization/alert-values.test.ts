import type { Alert } from "../../api/types.ts";
import { bodyOf, isRequestCount, valuesOf, windowsOf } from "./alert-values.ts";

const time = "2026-11-17T00:00:00.000Z";
const alert: Alert = {
  ...{ id: "alert_1", organizationId: "org_1", name: "errors", metric: "error_rate", errorRatePercent: 5, latencyP95Ms: null, spend: null },
  ...{ windowMinutes: 45, period: "day", minRequests: 50, model: "echo", team_id: "team_1", email: true, slackHost: "hooks.slack.example" },
  ...{ state: "ok", since: time, value: null, checkedAt: null, createdBy: 1, createdAt: time, updatedAt: time },
};

test("saving an alert unchanged keeps its window, minimum, model, team and Slack URL", () => {
  expect(bodyOf(valuesOf(alert), alert)).toEqual({
    ...{ name: "errors", errorRatePercent: 5, windowMinutes: 45, minRequests: 50, model: "echo", team_id: "team_1", email: true },
    slackUrl: undefined,
  });
  expect(windowsOf(alert).slice(0, 4)).toEqual(["15", "30", "45", "60"]);
});

test("a Slack URL, a model and a team can be removed, and a new alert has only what was entered", () => {
  const cleared = { ...valuesOf(alert), removesSlack: true, model: " ", teamId: "" };
  expect(bodyOf(cleared, alert)).toMatchObject({ slackUrl: null, model: null, team_id: null });
  expect(bodyOf(valuesOf(undefined), undefined)).toMatchObject({ slackUrl: undefined, model: undefined, team_id: undefined });
  expect(["10", "0", "", "1.5", "2000000"].map(isRequestCount)).toEqual([true, false, false, false, false]);
});
