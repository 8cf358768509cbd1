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

const contentFlags = { flag: "--log-content <value>", days: "--log-content-days <n>", to: "logContent", toDays: "logContentDays" } as const;

/** Whether prompts and answers are stored, of an organization. */
export const contentFields: readonly Field[] = [
  option(contentFlags.flag, "store prompts and answers: true or false", contentFlags.to, { kind: "json" }),
  option(contentFlags.days, "for how many days: 1 to 90", contentFlags.toDays, { kind: "integer" }),
];

/** The same of a key. */
export const keyContentFields: readonly Field[] = [
  option(contentFlags.flag, "store prompts and answers: true, false, or none for as the organization", contentFlags.to, {
    kind: "json",
    ...clears,
  }),
  option(contentFlags.days, "for how many days: 1 to 90, or none", contentFlags.toDays, { kind: "integer", ...clears }),
];

export const modelsField: Field = option("--models <a,b>", "allowed models, or none for all", "models", { kind: "list", ...clears });
