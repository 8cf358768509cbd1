import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList } from "../../../upstream/providers/shared/json-fields.ts";

const MARK = "tb1.";

/** A provider's signed thinking as the opaque text that clients send back; the signature is the provider's, this only wraps it. */
export function sealedContent(block: Fields): string {
  const { index: _index, ...sealed } = block;
  return MARK + Buffer.from(JSON.stringify(sealed)).toString("base64url");
}

/** Whether the gateway wrapped this content, around another provider's. */
export function isOwnSeal(content: string): boolean {
  return content.startsWith(MARK);
}

/** The thinking blocks in a reasoning item; none where it came from elsewhere. */
export function thinkingOf(item: Fields): readonly Fields[] {
  const content = item["encrypted_content"];
  if (typeof content !== "string" || !isOwnSeal(content)) return [];
  try {
    const value = JSON.parse(Buffer.from(content.slice(MARK.length), "base64url").toString("utf8")) as unknown;
    return asList(Array.isArray(value) ? value : [value]).map(asFields);
  } catch {
    return [];
  }
}
