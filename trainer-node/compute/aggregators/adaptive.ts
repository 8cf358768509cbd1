import { difference, mapModels } from "../clients/model.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import type { SettingTable } from "./settings.ts";
import { weightedMean } from "./weighted-mean.ts";

const SETTINGS = {
  lr: { type: "number", above: 0, max: 100, default: 0.1, about: "server learning rate η" },
  beta1: { type: "number", min: 0, below: 1, default: 0.9, about: "share of the first moment that is kept" },
  beta2: { type: "number", min: 0, below: 1, default: 0.99, about: "share of the second moment that is kept" },
  tau: { type: "number", above: 0, max: 1, default: 1e-3, about: "adaptivity τ, added to the root of the second moment" },
} as const satisfies SettingTable;

/**
 * Reddi et al. 2021, algorithm 2: m = β1·m + (1-β1)·Δ, then v by the rule's own way, then w = w + η·m / (√v + τ). No bias correction,
 * and both moments begin at 0. The three rules differ in `second` alone.
 */
export function adaptiveAggregator(
  own: { name: string; about: string; settings?: SettingTable },
  second: (held: number, change: number, beta2: number) => number,
): Aggregator {
  return {
    ...own,
    settings: { ...SETTINGS, ...own.settings },
    base: "required",
    usesWeights: true,
    columnwise: true,
    slots: ["first", "second"],
    run: (input) => {
      const { vectors, weights, settings, state } = input;
      const base = requiredBase(input);
      const delta = difference(weightedMean(vectors, weights), base);
      const [lr, beta1, beta2, tau] = ["lr", "beta1", "beta2", "tau"].map(settings.number) as [number, number, number, number];
      const first = mapModels([state["first"] ?? vectors.zeros(), delta], (held, change) => beta1 * held + (1 - beta1) * change);
      const moment = mapModels([state["second"] ?? vectors.zeros(), delta], (held, change) => second(held, change, beta2));
      const model = mapModels([base, first, moment], (weight, m, v) => weight + (lr * m) / (Math.sqrt(v) + tau));
      return { model, state: { first, second: moment } };
    },
  };
}
