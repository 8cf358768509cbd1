import type { Setting } from "./settings.ts";

/** `f` of Krum and what is built on it. */
export const BYZANTINE_CLIENTS: Setting = {
  type: "number",
  min: 0,
  whole: true,
  default: 1,
  description: "number of Byzantine clients to withstand",
};
