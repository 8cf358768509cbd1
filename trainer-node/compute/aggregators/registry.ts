import type { Aggregator } from "./aggregator.ts";
import { bulyan } from "./bulyan.ts";
import { fedadagrad } from "./fedadagrad.ts";
import { fedadam } from "./fedadam.ts";
import { fedasync } from "./fedasync.ts";
import { fedavg } from "./fedavg.ts";
import { fedavgm } from "./fedavgm.ts";
import { fednova } from "./fednova.ts";
import { fedprox } from "./fedprox.ts";
import { fedyogi } from "./fedyogi.ts";
import { fltrust } from "./fltrust.ts";
import { geometricMedian } from "./geometric-median.ts";
import { krum } from "./krum.ts";
import { mean } from "./mean.ts";
import { median } from "./median.ts";
import { multiKrum } from "./multi-krum.ts";
import { normClip } from "./norm-clip.ts";
import { qfedavg } from "./qfedavg.ts";
import { scaffold } from "./scaffold.ts";
import { trimmedMean } from "./trimmed-mean.ts";

/** Every strategy a request can name, in the order /v1/info lists them. */
export const AGGREGATORS: readonly Aggregator[] = [
  ...[mean, fedavg, fedavgm, fedprox, fedadam, fedyogi, fedadagrad, fednova, scaffold, qfedavg],
  ...[median, trimmedMean, krum, multiKrum, bulyan, geometricMedian, fltrust, normClip, fedasync],
];

export const STRATEGY_NAMES: readonly string[] = AGGREGATORS.map((aggregator) => aggregator.name);

export function findAggregator(name: string): Aggregator | undefined {
  return AGGREGATORS.find((aggregator) => aggregator.name === name);
}
