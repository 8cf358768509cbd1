import { createHash } from "node:crypto";
import { AppError } from "../../../common/errors.ts";
import type { CallRequest } from "../../calls/http-exchange.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The Idempotency-Key of a request; undefined without one. */
export function idempotencyKey(request: Pick<CallRequest, "headers" | "headersDistinct">): string | undefined {
  // headersDistinct parses all headers again, which the many requests without a key should not pay for.
  if (request.headers["idempotency-key"] === undefined) return undefined;
  const given = request.headersDistinct["idempotency-key"] ?? [];
  const [key] = given;
  if (given.length === 1 && key !== undefined && KEY.test(key)) return key;
  const message = "must be sent once, as 1 to 255 visible ASCII characters";
  throw new AppError("VALIDATION_ERROR", `Idempotency-Key ${message}.`, { details: [{ path: "headers.idempotency-key", message }] });
}

/** A hash of method, path and body, independent of field order: tells a repeated write from another one under the same key. */
export function idempotencyHash(request: { method: string; path: string; body: unknown }): string {
  return createHash("sha256")
    .update(`${request.method} ${request.path}\n${canonicalJson(request.body)}`)
    .digest("hex");
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
