import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { CacheSettings } from "./cache-settings.ts";

/** Cache options of one request, on top of the settings. */
export interface CacheControls {
  readonly read: boolean;
  readonly write: boolean;
  readonly ttlMs: number;
  /** Older answers are ignored. */
  readonly ageMsMax: number | undefined;
  readonly namespace: string | undefined;
}

const SECONDS_MAX = 30 * 24 * 3600;
const seconds = z.number().min(0).max(SECONDS_MAX).optional();
const controls = z.looseObject({
  "no-cache": z.boolean().optional(),
  "no-store": z.boolean().optional(),
  "use-cache": z.boolean().optional(),
  ttl: seconds,
  "s-maxage": seconds,
  "s-max-age": seconds,
  namespace: z.string().max(200).optional(),
});

/** LiteLLM's `caching` and `cache` fields. Throws INVALID_REQUEST for a `cache` field that is not valid. */
export function readCacheControls(request: Fields, settings: CacheSettings): CacheControls {
  const given = controls.safeParse(request["cache"] ?? {});
  if (!given.success) {
    const [issue] = given.error.issues;
    const param = ["cache", ...(issue?.path ?? [])].join(".");
    throw new AppError("INVALID_REQUEST", `${param}: ${issue?.message ?? "is not valid"}`, { param });
  }
  const { caching } = request;
  const asked = given.data;
  const isOn = caching !== false && (settings.byDefault || caching === true || asked["use-cache"] === true);
  const ageSeconds = asked["s-maxage"] ?? asked["s-max-age"];
  const ttlMs = asked.ttl === undefined ? settings.ttlMs : asked.ttl * 1000;
  return {
    read: isOn && asked["no-cache"] !== true,
    write: isOn && asked["no-store"] !== true && ttlMs > 0,
    ttlMs,
    ageMsMax: ageSeconds === undefined ? undefined : ageSeconds * 1000,
    namespace: asked.namespace,
  };
}
