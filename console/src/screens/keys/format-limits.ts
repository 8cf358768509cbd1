import type { ApiKey, Team } from "../../api/types.ts";
import { formatUsd } from "../../format/money.ts";
import { count } from "../../format/text.ts";
import { scopeValue } from "./scope-values.ts";

type Limited = Pick<ApiKey & Team, "rpm" | "tpm" | "maxParallelRequests" | "maxBudgetUsd" | "budgetPeriod" | "models"> &
  Partial<Pick<ApiKey, "scopes">>;

/** Limits in one line, each with its unit. */
export function formatLimits(limited: Limited): string {
  const { rpm, tpm, maxParallelRequests, maxBudgetUsd, budgetPeriod, models, scopes } = limited;
  const choice = scopeValue(scopes);
  const words = [
    choice === "inference" ? "calls only" : choice === "train" ? "training only" : "",
    rpm === null ? "" : `${rpm.toLocaleString("en-US")} RPM`,
    tpm === null ? "" : `${tpm.toLocaleString("en-US")} TPM`,
    maxParallelRequests === null ? "" : `${maxParallelRequests} parallel`,
    maxBudgetUsd === null ? "" : `${formatUsd(maxBudgetUsd)} ${budgetPeriod === null || budgetPeriod === "none" ? "total" : budgetPeriod}`,
    models === null ? "" : count(models.length, "model"),
  ];
  return words.filter((word) => word !== "").join(", ") || "none";
}
