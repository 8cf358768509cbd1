import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { createCacheLayer } from "../../calls/cache/cache-layer.ts";
import { createGuardrailLayer } from "../../calls/guardrails/guardrail-layer.ts";
import { createRouter } from "../../upstream/routing/route.ts";
import type { GatewayState } from "./admin/admin-gateway.ts";

const VECTORS = { entriesMax: 10, organizationBytesMax: 100_000, bytesMax: 1_000_000 };

/** The parts of an edge that the admin operations show. */
export function gatewayState(settings: object = {}, deployments: readonly Deployment[] = []): GatewayState {
  const json = JSON.stringify(settings);
  const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const routing = createRouter(ports);
  routing.update(deployments, json);
  const cache = createCacheLayer({ ...ports, chosen: undefined, redisUrl: undefined, bytesMax: 1_000_000, vectors: VECTORS });
  cache.update(json);
  const guardrails = createGuardrailLayer({ ...ports, moderate: () => Promise.reject(new Error("there is no moderation in this test")) });
  guardrails.update(json);
  return { routing, layers: { cache, guardrails }, refreshSettings: async () => {} };
}
