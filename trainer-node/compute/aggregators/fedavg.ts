import { fedavg as strategy } from "../../../common/strategies/fedavg.ts";
import { mean } from "./mean.ts";

/** McMahan et al. 2017: the mean weighted by sample counts, which are the request's weights. */
export const fedavg = { ...mean, ...strategy };
