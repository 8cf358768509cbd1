/** Longest first, then the one with fewer stars, then by name so that the order never depends on the file. */
export function comparePatterns(left: string, right: string): number {
  return right.length - left.length || starsIn(left) - starsIn(right) || (left < right ? -1 : 1);
}

/** Puts the captures into the stars of a deployment's model; with more captures than stars the requested name is the model. */
export function fillStars(model: string, { name, captures }: { name: string; captures: readonly string[] }): string {
  const stars = starsIn(model);
  if (stars === 0) return model;
  if (captures.length > stars) return name;
  let filled = model;
  for (const capture of captures) filled = filled.replace("*", () => capture);
  return filled;
}

function starsIn(text: string): number {
  return text.split("*").length - 1;
}
