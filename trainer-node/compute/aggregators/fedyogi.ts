import { adaptiveAggregator } from "./adaptive.ts";

export const fedyogi = adaptiveAggregator(
  { name: "fedyogi", about: "FedYogi (Reddi 2021)" },
  (held, change, beta2) => held - (1 - beta2) * change * change * Math.sign(held - change * change),
);
