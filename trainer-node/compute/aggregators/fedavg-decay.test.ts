import { federationSettings } from "../../../common/training/federation-settings.ts";
import { Federation } from "../../../proto/gen/tributary/training/v1/training.ts";
import { appliedStrategy } from "../../coordinator/round-strategy.ts";
import { aggregateTensors, f64 } from "./aggregate-harness.ts";

const base = [f64([1, -2])];
const clients = [[f64([3, 2])], [f64([9, -10])]];
const step = (settings: object) =>
  Array.from(
    aggregateTensors({ strategy: "fedavg_decay", clients, base, weights: [3, 1], settings: { ...settings } }).tensors[0]
      ?.data as Float64Array,
  );

test("round by round it goes lr · decay^(round - 1) of the way from the base to the weighted mean", () => {
  // The mean is [4.5, -1], so the whole way is [3.5, 1].
  expect(step({})).toEqual([4.5, -1]);
  expect(step({ lr: 0.5 })).toEqual([2.75, -1.5]);
  expect(step({ decay: 0.5, round: 3 })).toEqual([1.875, -1.75]);
  expect(step({ lr: 2, decay: 0.5, round: 2 })).toEqual([4.5, -1]);
});

test("a federation fills in the round; its first has nothing to step from and takes the mean", () => {
  const settings = federationSettings.parse({ task: "mlp", strategy: { name: "fedavg_decay", decay: 0.9 } });
  const applied = (headBlob: string, round: number) =>
    appliedStrategy({ settings, federation: Federation.fromPartial({ headBlob }) }, [], round);
  expect(applied("", 1)).toEqual({ name: "mean" });
  expect(applied("a".repeat(64), 5)).toEqual({ name: "fedavg_decay", decay: 0.9, round: 5 });
  const refused = federationSettings.safeParse({ task: "mlp", strategy: { name: "fedavg_decay", decay: 1.1, round: 2 } });
  expect(refused.error?.issues.map(({ path }) => path.join("."))).toEqual(["strategy.decay", "strategy.round"]);
});
