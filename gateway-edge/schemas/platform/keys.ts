import { z } from "zod";
import { KEY_SCOPES } from "../../../common/key-scopes.ts";
import { guardrailNames, id, instant, name, nanoAmount, paging, plainText, search } from "../fields.ts";
import { apiKeyRecord, listOf } from "../records.ts";
import { budgetFields } from "./budgets.ts";
import { keyContentFields } from "./contents.ts";
import { rateLimitFields } from "./rate-limits.ts";

const MODELS_MAX = 200;
const GRACE_SECONDS_MAX = 7 * 24 * 3600;

/** The limits of a key. Null removes a limit. */
const limits = {
  models: z.array(plainText(200)).max(MODELS_MAX).nullish(),
  guardrails: guardrailNames.nullish(),
  scopes: z
    .array(z.enum(KEY_SCOPES, `must be ${KEY_SCOPES.join(" or ")}`))
    .min(1)
    .max(KEY_SCOPES.length)
    .nullish(),
  ...rateLimitFields,
  ...budgetFields,
  expiresAt: instant.nullish(),
  ...keyContentFields,
};
export type KeyLimitFields = z.output<z.ZodObject<typeof limits>>;

export const listKeysQuery = z.object({
  ...paging,
  search: search.optional(),
  team_id: id.optional(),
  status: z.enum(["active", "blocked", "expired"]).optional(),
});
export const listKeysAnswer = listOf(apiKeyRecord);

/** `sha256`, `maskedKey` and `spend` import a key that another gateway issued: for platform admins. `spend` is what it spent there. */
export const createKeyBody = z.object({
  name,
  team_id: id,
  ...limits,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, "must be 64 hexadecimal digits")
    .optional(),
  maskedKey: plainText(20).optional(),
  spend: nanoAmount.optional(),
});
export const createdKeyAnswer = z.object({ apiKey: apiKeyRecord, key: z.string() });

// A key's id, its hash or the secret itself, under either name.
const reference = plainText(256).optional();
const oneReference = (body: { token?: string | undefined; apiKey?: string | undefined }) =>
  body.token !== undefined || body.apiKey !== undefined;

export const updateKeyBody = z
  .object({ token: reference, apiKey: reference, name: name.optional(), ...limits })
  .refine(oneReference, { path: ["token"], message: "must name the key: its id, its hash or the secret" });
export const keyAnswer = z.object({ apiKey: apiKeyRecord });

export const removeKeyBody = z
  .object({ apiKey: reference, token: reference })
  .refine(oneReference, { path: ["apiKey"], message: "must name the key: its id, its hash or the secret" });
export const removedKeyAnswer = keyAnswer.extend({ removed: z.literal(true) });

export const transferKeyBody = z
  .object({ apiKey: reference, token: reference, team_id: id })
  .refine(oneReference, { path: ["apiKey"], message: "must name the key: its id, its hash or the secret" });

export const rotateKeyBody = z
  .object({ apiKey: reference, token: reference, graceSeconds: z.int().min(0).max(GRACE_SECONDS_MAX).default(0) })
  .refine(oneReference, { path: ["apiKey"], message: "must name the key: its id, its hash or the secret" });
