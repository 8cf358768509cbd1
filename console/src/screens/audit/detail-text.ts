const LENGTH_MAX = 240;

/** The details of an entry in one line: "name: Default, rpm: 60". */
export function detailText(details: unknown): string {
  if (typeof details !== "object" || details === null) return "";
  const text = Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text;
}
