import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import { lenientFlag, readFields } from "../../upstream/routing/lenient.ts";
import type { Guardrail, GuardrailBase, Stage } from "./guardrail.ts";
import { jsonSchemaGuardrail } from "./json-schema.ts";
import { limited } from "./limited.ts";
import { type Moderate, moderationModelGuardrail } from "./moderation-model.ts";
import { piiMaskingGuardrail } from "./pii-masking.ts";
import { promptSizeGuardrail } from "./prompt-size.ts";
import { regexGuardrail } from "./regex.ts";
import { wordListGuardrail } from "./word-list.ts";

export interface CompileOptions {
  readonly moderate: Moderate;
  readonly logger: Logger;
}

const KINDS: Readonly<Record<string, (base: GuardrailBase, params: unknown, options: CompileOptions) => Guardrail>> = {
  regex: regexGuardrail,
  "word-list": wordListGuardrail,
  "json-schema": jsonSchemaGuardrail,
  "pii-masking": piiMaskingGuardrail,
  "prompt-size": promptSizeGuardrail,
  "moderation-model": (base, params, { moderate }) => moderationModelGuardrail(base, params, moderate),
};

/** Kinds whose checks take as long as their settings make them take. */
const LIMITED: ReadonlySet<string> = new Set(["regex", "json-schema"]);

const mode = z.union([z.string().transform((text) => [text]), z.array(z.string())]).default(["pre_call"]);
const entry = z.object({
  guardrail_name: z.string(),
  litellm_params: z.looseObject({ guardrail: z.string(), mode, default_on: lenientFlag }),
  enabled: lenientFlag,
});

/** The guardrails by name: those of the configuration file in its order, then stored ones in theirs. */
export function compileGuardrails(settingsJson: string, options: CompileOptions): Map<string, Guardrail> {
  const list = readFields(settingsJson)["guardrails"];
  const guardrails = new Map<string, Guardrail>();
  for (const given of Array.isArray(list) ? list : []) {
    const guardrail = compileOne(given, options);
    if (guardrail) guardrails.set(guardrail.name, guardrail);
  }
  return guardrails;
}

function compileOne(given: unknown, options: CompileOptions): Guardrail | undefined {
  const read = entry.safeParse(given);
  if (!read.success) return undefined;
  const { guardrail_name: name, litellm_params: params, enabled = true } = read.data;
  if (!Object.hasOwn(KINDS, params.guardrail)) return undefined;
  const byDefault = params.default_on ?? false;
  const base: GuardrailBase = { name, kind: params.guardrail, stage: stageOf(params.mode), byDefault, enabled };
  try {
    const guardrail = compileGuardrail(base, params, options);
    return LIMITED.has(base.kind) ? limited(guardrail, options.logger) : guardrail;
  } catch (error) {
    // The control plane refuses such a file. If one arrives all the same, every call of this guardrail is blocked, because it cannot be
    // checked.
    options.logger.error(
      { guardrail: name, error: String(error) },
      "a guardrail is misconfigured; it blocks every call that it applies to",
    );
    return { ...base, reach: 0, check: () => ({ action: "block", reason: "the guardrail is misconfigured" }) };
  }
}

/** One guardrail of a known kind. Throws on settings that it cannot use. */
export function compileGuardrail(base: GuardrailBase, settings: unknown, options: CompileOptions): Guardrail {
  const compile = KINDS[base.kind];
  if (!compile) throw new AppError("VALIDATION_ERROR", `There are no guardrails of the kind ${base.kind}.`);
  return compile(base, settings, options);
}

/** `during_call` means before the call here: an answer is never requested before its request is allowed. */
function stageOf(modes: readonly string[]): Stage | "both" {
  const post = modes.includes("post_call");
  const pre = modes.includes("pre_call") || modes.includes("during_call");
  return pre && post ? "both" : post ? "post" : "pre";
}
