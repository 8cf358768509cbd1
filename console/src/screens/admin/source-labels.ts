import type { AdminModel } from "../../api/types.ts";

/** Label of the source of a model or provider. Only those of the catalog can be changed in the console. */
export const SOURCE_LABELS: Readonly<Record<AdminModel["source"], string>> = {
  catalog: "catalog",
  configuration: "from the configuration file",
  training: "trained here",
};
