import type { z } from "zod";
import { AppError, type ErrorDetail } from "../../common/errors.ts";

/** The message for a missing field. */
export const FIELD_REQUIRED = "Field required";

/** The gateway chooses address and provider key. A client must not send our stored keys to its own address. */
const REFUSED_FIELDS = [
  "api_base",
  "base_url",
  "api_key",
  "api_version",
  "api_type",
  "custom_llm_provider",
  "user_config",
  "aws_sts_endpoint",
  "aws_web_identity_token",
  "aws_role_name",
  "aws_access_key_id",
  "aws_secret_access_key",
  "aws_bedrock_runtime_endpoint",
  "vertex_credentials",
  "azure_ad_token",
  "s3_endpoint_url",
  "sagemaker_base_url",
  "deployment_url",
  "input_cost_per_token",
  "output_cost_per_token",
  // OpenRouter would answer with these models, which the key may not use, at their own prices.
  "models",
  "route",
];

/** Tiers of providers that cost more than the model's price, which is the only one that a call is billed at. */
const DEARER_TIERS: readonly unknown[] = ["priority", "performance", "reserved", "fast"];

/** A schema's output without nulls: a field is present or absent. */
export type WithoutNulls<Output> = { [Field in keyof Output]: Exclude<Output[Field], null> };

/** Validates a body. The path's model replaces the body's. Throws UNPROCESSABLE with all errors. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  pathModel?: string,
  { keepNulls = false }: { keepNulls?: boolean } = {},
): WithoutNulls<z.output<Schema>> {
  const given = isFields(body) && !keepNulls ? withoutNulls(body) : body;
  if (isFields(given)) {
    const refused = REFUSED_FIELDS.find((field) => given[field] !== undefined);
    if (refused) throw new AppError("UNSUPPORTED_PARAMETER", `The parameter ${refused} is not accepted from clients.`, { param: refused });
    if (DEARER_TIERS.includes(given["service_tier"])) {
      const message = `service_tier ${given["service_tier"]} costs more than the model's price, which this gateway cannot bill yet. Leave it out.`;
      throw new AppError("UNSUPPORTED_PARAMETER", message, { param: "service_tier" });
    }
    if (pathModel !== undefined) given["model"] = pathModel;
  }
  const result = schema.safeParse(given);
  if (result.success) return result.data as WithoutNulls<z.output<Schema>>;
  throw unprocessable(result.error.issues);
}

function withoutNulls(body: object): Record<string, unknown> {
  // Most bodies have no nulls. Copied and not assigned to, because a field may be named __proto__.
  if (!Object.values(body).includes(null)) return { ...body };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unprocessable(issues: readonly z.core.$ZodIssue[]): AppError {
  const details: ErrorDetail[] = issues.slice(0, 20).map((issue) => ({
    path: ["body", ...issue.path.map(String)].join("."),
    message: issue.code === "invalid_type" && issue.message.endsWith("received undefined") ? FIELD_REQUIRED : issue.message,
  }));
  const param = issues[0] ? paramOf(issues[0].path) : undefined;
  const summary = details[0]?.message ?? "The request is not valid.";
  return new AppError("UNPROCESSABLE", param === undefined ? summary : `${param}: ${summary}`, { details, param });
}

/** A path in OpenAI's notation: messages[0].content. */
function paramOf(path: readonly PropertyKey[]): string | undefined {
  if (path.length === 0) return undefined;
  return path.map((step, index) => (typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${String(step)}`)).join("");
}
