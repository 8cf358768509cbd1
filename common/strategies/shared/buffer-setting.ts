import type { Setting } from "./settings.ts";

/** Of asynchronous strategies. */
export function bufferSetting(updates: number): Setting {
  return {
    type: "number",
    min: 1,
    max: 10_000,
    whole: true,
    default: updates,
    only: "federation",
    description: "updates that a round waits for",
  };
}
