import { keepLowest, multiKrum } from "./multi-krum.ts";

/** Blanchard et al. 2017: the one client of the lowest score. */
export const krum = {
  ...multiKrum,
  name: "krum",
  about: "Krum (Blanchard 2017): the one client nearest to its neighbours; needs 2f + 2 < n",
  settings: { f: multiKrum.settings["f"] as NonNullable<(typeof multiKrum.settings)["f"]> },
  run: (input: Parameters<typeof multiKrum.run>[0]) => keepLowest(input, "krum", 1),
};
