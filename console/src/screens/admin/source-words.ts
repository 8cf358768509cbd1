import type { AdminModel } from "../../api/types.ts";

/** Where a model or provider comes from, as the table says it; what is not of the catalog is changed elsewhere. */
export const SOURCE_WORDS: Readonly<Record<AdminModel["source"], string>> = {
  catalog: "catalog",
  configuration: "from the configuration file",
  training: "trained here",
};
