import { fedprox as strategy } from "../../../common/strategies/fedprox.ts";
import { mean } from "./mean.ts";

/** Li et al. 2020: clients apply the proximal term (`config.mu` of /train); the server's step is that of FedAvg. */
export const fedprox = { ...mean, ...strategy };
