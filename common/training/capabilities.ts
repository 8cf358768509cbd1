/** What a participant may declare under `capabilities` of its `/v1/info`; what it does not declare it cannot do. */
export const CAPABILITIES = ["clip", "noise", "mask", "steps"] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITY_TEXT: Readonly<Record<Capability, string>> = {
  clip: "clip its updates",
  noise: "add noise to its updates",
  mask: "mask its updates",
  steps: "take the steps that epochs and batch_size name",
};
