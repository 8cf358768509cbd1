import { createHash } from "node:crypto";
import type { Fields } from "../../upstream/providers/provider.ts";

export interface KeyInput {
  readonly organizationId: string;
  readonly operation: string;
  /** The group that answers, by its configured and its requested name: an alias stands for the same group. */
  readonly group: readonly string[];
  readonly namespace: string | undefined;
  /** The request's fields for the provider. */
  readonly fields: Fields;
}

/** Fields about the caller or the delivery, without effect on the answer's content. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "model",
  "user",
  "metadata",
  "tags",
  "stream",
  "stream_options",
  "encoding_format",
  "safety_identifier",
  "prompt_cache_key",
  "store",
]);

/** Equal for equal requests of one organization, whatever the order of their fields; never equal for two organizations. */
export function cacheKey({ organizationId, operation, group, namespace, fields }: KeyInput): string {
  const asked = Object.fromEntries(Object.entries(fields).filter(([name]) => !WITHOUT_EFFECT.has(name)));
  const canonical = JSON.stringify([1, organizationId, operation, group, namespace ?? null, sorted(asked)]);
  return createHash("sha256").update(canonical).digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  // As a list of pairs, because JSON.stringify preserves the given order; inside an object, so that it never equals a list.
  const names = Object.keys(value).toSorted();
  return { fields: names.map((name) => [name, sorted((value as Fields)[name])]) };
}
