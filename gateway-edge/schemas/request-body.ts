import type { z } from "zod";
import { AppError, type ErrorDetail } from "../../common/errors.ts";
import { isFields, refuseContainer, refuseFields } from "./refused-fields.ts";

/** The message for a missing field. */
export const FIELD_REQUIRED = "Field required";

interface ParseOptions {
  readonly keepNulls?: boolean;
  /** The caller of the parser checks whose the container is. */
  readonly takesContainers?: boolean;
}

/** A schema's output without nulls: a field is present or absent. */
export type WithoutNulls<Output> = { [Field in keyof Output]: Exclude<Output[Field], null> };

/** Validates a body. The path's model replaces the body's. Throws UNPROCESSABLE with all errors. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  pathModel?: string,
  { keepNulls = false, takesContainers = false }: ParseOptions = {},
): WithoutNulls<z.output<Schema>> {
  const given = isFields(body) && !keepNulls ? withoutNulls(body) : body;
  if (isFields(given)) {
    refuseFields(given);
    if (!takesContainers) refuseContainer(given["container"]);
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
