import type { ServerResponse } from "node:http";

/** Types that no browser renders or runs. */
const INERT_TYPE =
  /^(?:application\/(?:json|[\w.-]+\+json|octet-stream|msgpack|x-msgpack|vnd\.msgpack)|text\/(?:event-stream|plain))[ \t]*(?:;|$)/i;

/** A node or provider controls the response, which has the console's origin, so browsers must treat it as data. */
export function sandboxAnswer(response: ServerResponse): void {
  response.setHeader("content-security-policy", "sandbox; default-src 'none'");
  response.setHeader("x-content-type-options", "nosniff");
}

/** Whether a response with this content type needs no `content-disposition: attachment`. */
export function isInert(contentType: string | undefined): boolean {
  return INERT_TYPE.test(contentType ?? "");
}
