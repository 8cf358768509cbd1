import { mean } from "./mean.ts";

/** McMahan et al. 2017: the mean weighted by sample counts, which are the request's weights. */
export const fedavg = { ...mean, name: "fedavg", about: "FedAvg (McMahan 2017): mean weighted by sample counts, given as `weights`" };
