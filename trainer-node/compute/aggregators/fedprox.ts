import { mean } from "./mean.ts";

/** Li et al. 2020: the proximal term is the clients' (`config.mu` of /train); the server's step is FedAvg's. */
export const fedprox = {
  ...mean,
  name: "fedprox",
  about: "FedProx (Li 2020): the server step of FedAvg; clients train with config.mu, the proximal term",
};
