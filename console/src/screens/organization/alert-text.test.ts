import { ruleText, valueText } from "./alert-text.ts";

const rule = {
  ...{ errorRatePercent: null, latencyP95Ms: null, spend: null, windowMinutes: 30, minRequests: 10, period: "day" },
  ...{ model: null, team_id: null },
};

test("a rule and its value are in the unit of the metric", () => {
  expect(ruleText({ ...rule, metric: "error_rate", errorRatePercent: 2.5, model: "echo" })).toBe(
    "Error rate of echo in 30 minutes with 10 calls or more at least 2.5 %",
  );
  expect(ruleText({ ...rule, metric: "spend", spend: 1_000_000_000, team_id: "team_1" })).toBe(
    "Spend of team team_1 in a day (UTC) at least $1.00",
  );
  expect(ruleText({ ...rule, metric: "latency_p95", latencyP95Ms: 900, team_id: "team_1" }, "Research")).toBe(
    "95th percentile of latency of team Research in 30 minutes with 10 calls or more at least 900 ms",
  );
  expect(ruleText({ ...rule, metric: "spend", spend: 25_000_000_000 })).toBe("Spend in a day (UTC) at least $25.00");
  expect(valueText({ metric: "spend", value: 1_500_000_000 })).toBe("Last value $1.50");
  expect(valueText({ metric: "latency_p95", value: 900 })).toBe("Last value 900 ms");
  expect(valueText({ metric: "error_rate", value: null })).toBe("No value yet or too few calls");
});
