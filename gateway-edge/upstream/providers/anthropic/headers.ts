import { AppError } from "../../../../common/errors.ts";
import { ANTHROPIC_VERSION } from "../../../../common/providers/anthropic.ts";
import type { Fields, ProviderTarget } from "../provider.ts";
import { asFields, asList, asText } from "../shared/json-fields.ts";

/** What a version of the API takes. */
export interface VersionRules {
  readonly keyHeader: "x-api-key" | "authorization";
  readonly sampling: boolean;
  /** Whether system turns may be between the others. */
  readonly inlineSystem: boolean;
}

/** By the date from which they apply, newest first; versions are dates, so a newer version follows the newest row. */
const VERSIONS: readonly (readonly [from: string, rules: VersionRules])[] = [
  ["2026-10-21", { keyHeader: "authorization", sampling: false, inlineSystem: true }],
  ["", { keyHeader: "x-api-key", sampling: true, inlineSystem: false }],
];

export function versionRules(params: Fields): VersionRules {
  const version = versionOf(params);
  const row = VERSIONS.find(([from]) => version >= from);
  if (!row) throw new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal: `no rules for version ${version}` });
  return row[1];
}

/** The operator's own headers, overridden by the gateway's: the version, the key, and the joined betas of both and of the caller. */
export function anthropicHeaders(target: ProviderTarget, callerBetas: readonly string[] = []): Readonly<Record<string, string>> {
  const { "anthropic-beta": beta, ...others } = extraHeaders(target.params);
  const betas = [...betasOf(target.params["anthropic_beta"]), ...betasOf(beta), ...callerBetas];
  return {
    ...others,
    "content-type": "application/json",
    "anthropic-version": versionOf(target.params),
    ...(betas.length > 0 ? { "anthropic-beta": [...new Set(betas)].join(",") } : {}),
    ...authHeader(target),
  };
}

function versionOf(params: Fields): string {
  return asText(params["anthropic_version"]) ?? extraHeaders(params)["anthropic-version"] ?? ANTHROPIC_VERSION;
}

function authHeader({ apiKey, params }: ProviderTarget): Record<string, string> {
  const token = asText(params["auth_token"]);
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (apiKey === undefined) return {};
  return versionRules(params).keyHeader === "authorization" ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
}

function extraHeaders(params: Fields): Record<string, string> {
  const headers = Object.entries(asFields(params["extra_headers"]));
  return Object.fromEntries(headers.flatMap(([name, value]) => (asText(value) === undefined ? [] : [[name.toLowerCase(), String(value)]])));
}

export function betasOf(value: unknown): string[] {
  const texts = typeof value === "string" ? value.split(",") : asList(value).map(String);
  return texts.map((text) => text.trim()).filter((text) => text !== "");
}
