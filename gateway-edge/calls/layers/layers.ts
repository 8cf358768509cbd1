import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { EdgeConfig } from "../../config.ts";
import { lenientFields, lenientFlag, readFields } from "../../upstream/routing/lenient.ts";
import { type CacheFigures, type CacheLayer, createCacheLayer } from "../cache/cache-layer.ts";
import type { Contents } from "../content/contents.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import type { GuardrailFigures } from "../guardrails/findings.ts";
import { createGuardrailLayer, type GuardrailLayer } from "../guardrails/guardrail-layer.ts";
import type { Moderate } from "../guardrails/moderation-model.ts";
import { moderationsJob } from "../inference/jobs/moderations.ts";
import { NO_ROUTING } from "../inference/route-request.ts";
import { type RunCall, screenedRun } from "../inference/run-call.ts";
import type { InferenceDeps } from "../inference/run-inference.ts";
import { createSchemaChecks } from "../schema-checks/schema-checks.ts";
import { cachedRun } from "./cached-run.ts";
import { checkedRun } from "./checked-run.ts";
import { embedWith } from "./embed-text.ts";
import { guardedRun } from "./guarded-run.ts";
import { recordedRun } from "./recorded-run.ts";

/** The data path with its layers: guardrails outermost, then what is stored of the call, the cache, the schema check. */
export interface Layers {
  readonly run: RunCall;
  /** Applies the settings of the configuration file, whenever they change. */
  update(settingsJson: string): void;
  figures(): LayerFigures;
  /** Which guardrails apply to a caller, or to all calls. */
  readonly guardrails: GuardrailLayer;
  readonly cache: CacheLayer;
  close(): Promise<void>;
}

export interface LayerFigures {
  readonly cache: CacheFigures;
  readonly semanticCache: CacheFigures;
  readonly guardrails: GuardrailFigures;
}

interface LayersDeps extends InferenceDeps {
  readonly random: Random;
  readonly config: EdgeConfig;
  readonly contents: Contents;
}

export function createLayers(deps: LayersDeps): Layers {
  const { clock, random, logger, config, contents } = deps;
  const cache = createCacheLayer({
    clock,
    logger,
    chosen: config.cache,
    redisUrl: config.redisUrl,
    bytesMax: config.cacheBytesMax,
    vectors: vectorsIn(config),
  });
  let checksAll = false;
  // An answer that fails the schema check is requested again as a call of its own, with its own content.
  const sent = recordedRun(contents, screenedRun(deps));
  const embed = embedWith(sent, { clock, random, logger, timeoutMs: config.semanticCacheTimeoutMs, problems: cache.semantic.problems });
  const schemas = createSchemaChecks({ clock, logger });
  const answered = cachedRun({ ...deps, cache, embed }, checkedRun({ clock, random, schemas, checksAll: () => checksAll }, sent));
  const guardrails = createGuardrailLayer({ logger, clock, moderate: moderateWith(answered, deps) });
  return {
    run: guardedRun({ ...deps, guardrails }, recordedRun(contents, answered)),
    update(settingsJson) {
      cache.update(settingsJson);
      guardrails.update(settingsJson);
      const litellm = lenientFields.parse(readFields(settingsJson)["litellm_settings"]);
      checksAll = lenientFlag.parse(litellm?.["enable_json_schema_validation"]) ?? false;
    },
    figures: () => ({
      cache: { ...cache.figures },
      semanticCache: { ...cache.semantic.figures },
      guardrails: structuredClone(guardrails.findings.figures),
    }),
    guardrails,
    cache,
    close: async () => {
      await Promise.all([cache.close(), schemas.close()]);
    },
  };
}

function vectorsIn(config: EdgeConfig) {
  const { semanticCacheEntriesMax: entriesMax, semanticCacheBytesMax: bytesMax } = config;
  return { entriesMax, organizationBytesMax: Math.ceil(bytesMax / ORGANIZATIONS_AT_LEAST), bytesMax };
}

/** One organization cannot take the memory of all. */
const ORGANIZATIONS_AT_LEAST = 8;

/** A separate call with its own row. The operator chose the model, so the key's model list does not apply. Its prompt is that of the call. */
function moderateWith(run: RunCall, source: Pick<InferenceDeps, "clock"> & { readonly random: Random }): Moderate {
  return async ({ model, texts }, { caller, signal }) => {
    const result = await run({
      callId: newId("call", source),
      endpoint: "/v1/moderations",
      caller: { ...caller, models: undefined, teamModels: undefined, logContent: false },
      job: moderationsJob({ model, input: [...texts] }),
      routing: NO_ROUTING,
      signal,
      errorStatus: gatewayErrorStatus,
    });
    if (result.type !== "answer") throw new Error("a moderation was streamed");
    return result.answer;
  };
}
