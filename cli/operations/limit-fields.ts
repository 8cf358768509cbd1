import { type Field, option } from "./spec.ts";

const clears = { clears: true } as const;

/** Limits shared by keys, teams, users, organizations and models. `none` removes a limit. */
export const rateLimitFields: readonly Field[] = [
  option("--rpm <n>", "requests per minute (RPM), or none", "rpm", { kind: "integer", ...clears }),
  option("--tpm <n>", "tokens per minute (TPM), or none", "tpm", { kind: "integer", ...clears }),
  option("--max-parallel <n>", "maximum parallel requests, or none", "maxParallelRequests", { kind: "integer", ...clears }),
];

export const budgetFields: readonly Field[] = [
  option("--max-budget <usd>", "maximum spend in USD, or none", "maxBudget", { kind: "usd", ...clears }),
  option("--budget-period <period>", "reset period of the budget", "budgetPeriod", { choices: ["daily", "weekly", "monthly", "none"] }),
];

export const modelsField: Field = option("--models <a,b>", "allowed models, or none for all", "models", { kind: "list", ...clears });
