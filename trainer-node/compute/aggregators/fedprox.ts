import { fedprox as strategy } from "../../../common/strategies/fedprox.ts";
import { mean } from "./mean.ts";

/** Li et al. 2020: the proximal term is the clients' (`config.mu` of /train); the server's step is FedAvg's. */
export const fedprox = { ...mean, ...strategy };
