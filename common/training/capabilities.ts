/** What a participant may declare under `capabilities` of its `/v1/info`; what it does not declare it cannot do, except for `formats`. */
export const CAPABILITIES = [
  "clip",
  "noise",
  "mask",
  "steps",
  "proximal",
  "controls",
  "loss_before",
  "compress",
  "initial",
  "serve",
  "formats",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITY_TEXT: Readonly<Record<Capability, string>> = {
  clip: "clip its updates",
  noise: "add noise to its updates",
  mask: "mask its updates",
  steps: "take the steps that epochs and batch_size name",
  proximal: "add the proximal term that mu weighs to its training",
  controls: "train with control variates",
  loss_before: "report the loss of the parameters before it trains them",
  compress: "compress its updates",
  initial: "give untrained parameters",
  serve: "answer calls of the published model",
  formats: "send parameters in a format that the coordinator reads",
};

/** Formats of parameters that coordinators and trainer nodes read. Others are opaque: only the participants can compute with them. */
export const READABLE_FORMATS = ["safetensors", "msgpack", "npz", "npy"] as const;

/** The capabilities of a joined participant, sent with each request for work because it cannot be asked for /v1/info. */
export const CAPABILITIES_HEADER = "x-capabilities";

/**
 * The capabilities that a participant declares at its `/v1/info`. One that declares no formats may have a readable one; its first update
 * shows it. Nodes of earlier versions do not declare `proximal`: they declare `steps` for their built-in tasks, which apply mu in all versions.
 */
export function declaredCapabilities(declared: Readonly<Record<string, unknown>>): ReadonlySet<Capability> {
  const { formats, steps, proximal = steps } = declared;
  const isReadable = !Array.isArray(formats) || READABLE_FORMATS.some((format) => formats.includes(format));
  const all: Readonly<Record<string, unknown>> = { ...declared, proximal, formats: isReadable };
  return new Set(CAPABILITIES.filter((name) => all[name] === true));
}

/** The same from the header of a joined participant: names with commas between them, `formats=safetensors+npz` for formats. */
export function capabilitiesInHeader(header: string): ReadonlySet<Capability> {
  const fields = header.split(",").map((field) => {
    const [name = "", value] = field.trim().split("=");
    return [name, value === undefined ? true : value.split("+")];
  });
  return declaredCapabilities(Object.fromEntries(fields));
}
