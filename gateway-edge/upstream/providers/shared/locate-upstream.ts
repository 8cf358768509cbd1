import { AppError } from "../../../../common/errors.ts";
import type { ProviderTarget } from "../provider.ts";
import { asFields, asText } from "./json-fields.ts";

/** The URL of an operation under a base, which may end in a slash or not. */
export function under(base: string, path: string): string {
  return `${base.replace(/(?<!\/)\/+$/, "")}/${path}`;
}

/** Headers of a bearer key and the operator's own headers; names in lower case, so that none is sent twice. */
export function bearerHeaders(target: ProviderTarget, more: Readonly<Record<string, unknown>> = {}): Record<string, string> {
  return textHeaders({
    ...(target.apiKey === undefined ? {} : { authorization: `Bearer ${target.apiKey}` }),
    ...more,
    ...asFields(target.params["extra_headers"]),
  });
}

/** Only fields with a text. */
export function textHeaders(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (asText(value) === undefined ? [] : [[name.toLowerCase(), value as string]])),
  );
}

/** A deployment that cannot be called as configured: the operator's fault, with details in the log. */
export function unusable(kind: string, what: string): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal: `${kind}: ${what}` });
}
