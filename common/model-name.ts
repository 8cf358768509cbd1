const MODEL_NAME_MAX = 100;

/** Valid names of trained models. */
export const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/;

export const MODEL_NAME_RULE = 'must be 1 to 100 letters, digits or any of "-", "_", ".", ":", "/", and begin with a letter or digit';

/** Derives a valid name from any text: a valid name stays unchanged, "River digits (v2)" becomes "River-digits-v2". */
export function modelNameFrom(text: string): string | undefined {
  if (MODEL_NAME.test(text)) return text;
  const name = text
    .normalize("NFKD")
    // The normalization has split accents into separate characters.
    .replace(/\p{M}+/gu, "")
    .replace(/[^A-Za-z0-9._:/-]+/g, "-")
    .replace(/-{2,}/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, MODEL_NAME_MAX)
    .replace(/(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/, "");
  return name === "" ? undefined : name;
}
