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

/** The fields of an answer whose body is octets, as its X-Result header. If fields are left out, `warnings` says so. */
export function resultHeader(fields: Readonly<Record<string, unknown>>): string {
  const kept = new Map(Object.entries(fields));
  const leftOut: string[] = [];
  let text = asciiJson(fields);
  for (const name of LEFT_OUT_FIRST) {
    if (text.length <= RESULT_BYTES_MAX) break;
    if (!kept.delete(name)) continue;
    leftOut.push(name);
    const given = kept.get("warnings");
    const warning = `left out because they do not fit the X-Result header: ${leftOut.join(", ")}; accept JSON`;
    text = asciiJson({ ...Object.fromEntries(kept), warnings: [...(Array.isArray(given) ? given : []), warning] });
  }
  return text;
}

/** A value as JSON for a header, which has ASCII only. */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
