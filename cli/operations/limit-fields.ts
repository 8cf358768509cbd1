import { type Field, given } from "./spec.ts";

const clears = { clears: true } as const;

/** Limits that keys, teams, users, organisations and models share. `none` takes one away. */
export const rateLimitFields: readonly Field[] = [
  given("--rpm <n>", "requests a minute, or none", "rpm", { kind: "integer", ...clears }),
  given("--tpm <n>", "tokens a minute, or none", "tpm", { kind: "integer", ...clears }),
  given("--max-parallel <n>", "calls at one time, or none", "maxParallelRequests", { kind: "integer", ...clears }),
];

export const budgetFields: readonly Field[] = [
  given("--max-budget <usd>", "what it may spend, in USD, or none", "maxBudget", { kind: "usd", ...clears }),
  given("--budget-period <period>", "when it begins again", "budgetPeriod", { choices: ["daily", "weekly", "monthly", "none"] }),
];

export const modelsField: Field = given("--models <a,b>", "only these models, or none for all", "models", { kind: "list", ...clears });
