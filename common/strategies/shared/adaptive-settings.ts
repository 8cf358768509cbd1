import type { SettingTable } from "./settings.ts";

/** Of FedAdam, FedYogi and FedAdagrad. */
export const ADAPTIVE_SETTINGS = {
  lr: { type: "number", above: 0, max: 100, default: 0.1, description: "server learning rate η" },
  beta1: { type: "number", min: 0, below: 1, default: 0.9, description: "share of the first moment that is kept" },
  beta2: { type: "number", min: 0, below: 1, default: 0.99, description: "share of the second moment that is kept" },
  tau: { type: "number", above: 0, max: 1, default: 1e-3, description: "adaptivity τ, added to the root of the second moment" },
} as const satisfies SettingTable;
