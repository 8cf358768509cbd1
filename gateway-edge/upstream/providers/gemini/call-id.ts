import { createHash } from "node:crypto";

/** Google's documented value for a tool call whose signature is lost: the model answers without its earlier thoughts. */
export const LOST_SIGNATURE = "skip_thought_signature_validator";

const MARK = "__thought__";
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export interface CallOfModel {
  readonly responseId: string | undefined;
  /** How many messages precede it, so that two turns of one conversation never share an id. */
  readonly turn: number;
  readonly choice: number;
  readonly index: number;
  readonly name: string;
  readonly arguments: string;
  readonly signature: string | undefined;
}

/**
 * The id of a tool call: equal for equal answers, different for each call, and with the thought signature in it. Clients return ids and
 * drop unknown fields, so the id is the one place where a signature survives every client without a store.
 */
export function callId({ signature, ...call }: CallOfModel): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(Object.values(call).map((value) => value ?? "")))
    .digest("hex");
  const id = `call_${digest.slice(0, 24)}`;
  if (signature === undefined || !BASE64.test(signature) || signature.length % 4 !== 0) return id;
  // Other providers accept the URL alphabet in an id, in case the conversation moves to one of them.
  return `${id}${MARK}${signature.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The signature within an id, if there is one; also when it was written in the plain alphabet. */
export function signatureIn(id: string): string | undefined {
  const at = id.indexOf(MARK);
  if (at < 0) return undefined;
  const text = id
    .slice(at + MARK.length)
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  const padded = text.replaceAll("=", "");
  const signature = padded.padEnd(Math.ceil(padded.length / 4) * 4, "=");
  return BASE64.test(signature) ? signature : undefined;
}
