import { adaptiveAggregator } from "./adaptive.ts";

export const fedadam = adaptiveAggregator(
  { name: "fedadam", about: "FedAdam (Reddi 2021)" },
  (held, change, beta2) => beta2 * held + (1 - beta2) * change * change,
);
