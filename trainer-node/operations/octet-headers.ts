/** Node limits all headers together to 16 KiB. */
const CONFIG_BYTES_MAX = 10_000;
const RESULT_BYTES_MAX = 8192;
/** What is left out, in this order, if the fields do not fit. The rest is short, and `num_samples` weighs the update and its reward. */
const LEFT_OUT_FIRST = ["clients", "warnings", "metrics"] as const;

/** The fields of a call whose body is octets, as its X-Train-Config header; undefined if they do not fit. */
export function configHeader(fields: object): string | undefined {
  const header = Buffer.from(JSON.stringify(fields)).toString("base64");
  return header.length <= CONFIG_BYTES_MAX ? header : undefined;
}

/**
 * The fields of an answer whose body is octets, as its X-Result header. If fields are left out, `warnings` says so. Of metrics, those stay that
 * fit, in their order.
 */
export function resultHeader(fields: Readonly<Record<string, unknown>>): string {
  let kept = fields;
  let leftOut: readonly string[] = [];
  let text = asciiJson(fields);
  for (const name of LEFT_OUT_FIRST) {
    if (text.length <= RESULT_BYTES_MAX) break;
    if (!Object.hasOwn(kept, name)) continue;
    const { [name]: value, ...others } = kept;
    const fitting = name === "metrics" ? fittingMetrics(value, others, leftOut) : undefined;
    kept = fitting ? { ...others, metrics: fitting.metrics } : others;
    leftOut = [...leftOut, fitting ? fitting.leftOut : name];
    text = textOf(kept, leftOut);
  }
  return text;
}

/** The fields with a warning that names what is not among them. */
function textOf(kept: Readonly<Record<string, unknown>>, leftOut: readonly string[]): string {
  const given = kept["warnings"];
  const warning = `left out because they do not fit the X-Result header: ${leftOut.join(", ")}; accept JSON`;
  return asciiJson({ ...kept, warnings: [...(Array.isArray(given) ? given : []), warning] });
}

/** The metrics that fit beside the other fields, and how many do not; undefined if none does. */
function fittingMetrics(
  given: unknown,
  others: Readonly<Record<string, unknown>>,
  leftOut: readonly string[],
): { readonly metrics: object; readonly leftOut: string } | undefined {
  const all = Object.entries(Object(given) as object);
  const leftOutText = (count: number): string => `metrics (${count} of ${all.length})`;
  let room = RESULT_BYTES_MAX - textOf({ ...others, metrics: {} }, [...leftOut, leftOutText(all.length)]).length;
  const fitting = all.filter(([name, value]) => {
    // Without its braces, and with a comma.
    const size = asciiJson({ [name]: value }).length - 1;
    if (size > room) return false;
    room -= size;
    return true;
  });
  if (fitting.length === 0) return undefined;
  return { metrics: Object.fromEntries(fitting), leftOut: leftOutText(all.length - fitting.length) };
}

/** A value as JSON for a header, which has ASCII only. */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
