import { type Field, given } from "./spec.ts";

const clears = { clears: true } as const;

/** Limits shared by keys, teams, users, organizations and models. `none` removes a limit. */
export const rateLimitFields: readonly Field[] = [
  given("--rpm <n>", "requests per minute (RPM), or none", "rpm", { kind: "integer", ...clears }),
  given("--tpm <n>", "tokens per minute (TPM), or none", "tpm", { kind: "integer", ...clears }),
  given("--max-parallel <n>", "maximum parallel requests, or none", "maxParallelRequests", { kind: "integer", ...clears }),
];

export const budgetFields: readonly Field[] = [
  given("--max-budget <usd>", "maximum spend in USD, or none", "maxBudget", { kind: "usd", ...clears }),
  given("--budget-period <period>", "reset period of the budget", "budgetPeriod", { choices: ["daily", "weekly", "monthly", "none"] }),
];

export const modelsField: Field = given("--models <a,b>", "allowed models, or none for all", "models", { kind: "list", ...clears });
