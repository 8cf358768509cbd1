import { adaptiveAggregator } from "./adaptive.ts";

/** The paper runs it without momentum: β1 is 0 unless asked for. */
export const fedadagrad = adaptiveAggregator(
  {
    name: "fedadagrad",
    about: "FedAdagrad (Reddi 2021)",
    settings: { beta1: { type: "number", min: 0, below: 1, default: 0, about: "share of the first moment that is kept" } },
  },
  (held, change) => held + change * change,
);
