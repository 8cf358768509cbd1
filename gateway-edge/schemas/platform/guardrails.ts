import { z } from "zod";
import { GUARDRAIL_KINDS } from "../../../common/guardrails/kinds.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const TEXT_LENGTH_MAX = 20_000;
const GUARDRAILS_MAX = 200;

const name = z.string().regex(NAME, "must be 1 to 64 letters, digits or any of . _ -, and begin with a letter or digit");
const kind = z.enum(Object.keys(GUARDRAIL_KINDS) as [string, ...string[]]);
/** Before the request is sent, before the response is delivered, or both. Kinds with one stage have that one. */
const stage = z.enum(["pre", "post", "both"]);
/** The settings of the kind, as `kinds` of GET /api/admin/guardrails lists them. The control plane takes 64 KiB of JSON of each, 1 MiB of all. */
const settings = z.record(z.string(), z.unknown());

export const guardrailRecord = z
  .object({
    name: z.string(),
    kind: z.string(),
    stage,
    /** Applies to every call. */
    byDefault: z.boolean(),
    /** False: no call is checked, also not one that names it. */
    enabled: z.boolean(),
    settings,
    /** `configuration`: it is in the configuration file, and can be changed only there. */
    source: z.enum(["catalog", "configuration"]),
    file: z.string().nullable(),
  })
  .meta({ id: "Guardrail" });
export type GuardrailRecord = z.infer<typeof guardrailRecord>;

export const guardrailKindRecord = z
  .object({
    kind: z.string(),
    about: z.string(),
    /** The stage that it always has. */
    stage: z.enum(["pre", "post"]).nullable(),
    settings: z.array(
      z.object({
        name: z.string(),
        type: z.enum(["text", "texts", "patterns", "flag", "count", "object"]),
        required: z.boolean(),
        choices: z.array(z.string()).nullable(),
        about: z.string(),
      }),
    ),
  })
  .meta({ id: "GuardrailKind" });

export const createGuardrailBody = z.object({
  name,
  kind,
  stage: stage.default("pre"),
  byDefault: z.boolean().default(false),
  enabled: z.boolean().default(true),
  settings,
});
export const updateGuardrailBody = z.object({
  stage: stage.optional(),
  byDefault: z.boolean().optional(),
  enabled: z.boolean().optional(),
  /** Replaces all settings. */
  settings: settings.optional(),
});
export const guardrailAnswer = z.object({ guardrail: guardrailRecord });
export const guardrailParams = z.object({ name: z.string().min(1).max(200) });

/** Every guardrail that is not of the configuration file, once. */
export const orderGuardrailsBody = z.object({ names: z.array(z.string()).max(GUARDRAILS_MAX) });
export const orderGuardrailsAnswer = z.object({ data: z.array(guardrailRecord) });

/** `name` for one that exists, or `kind` and `settings` for one that is not saved. */
export const tryGuardrailBody = z.object({
  text: z.string().max(TEXT_LENGTH_MAX),
  stage: z.enum(["pre", "post"]).default("pre"),
  name: z.string().max(200).optional(),
  kind: kind.optional(),
  settings: settings.optional(),
});
/** `text` is what would be sent on; null if it is blocked. */
export const tryGuardrailAnswer = z.object({
  action: z.enum(["allow", "block", "mask"]),
  text: z.string().nullable(),
  reason: z.string().nullable(),
});
export const deletedGuardrailAnswer = z.object({ deleted: z.literal(true), name: z.string() });
