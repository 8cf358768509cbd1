import { z } from "zod";
import { AppError } from "../../common/errors.ts";
import { FIELD_REQUIRED } from "./request-body.ts";

const FLAG_EXPECTED = "must be true, false, 1 or 0";

/** A boolean query parameter, in any case as Python clients send it. */
export const queryFlag = z
  .string(FLAG_EXPECTED)
  .toLowerCase()
  .pipe(z.enum(["true", "false", "1", "0"], FLAG_EXPECTED))
  .transform((text) => text === "true" || text === "1")
  .default(false)
  .meta({ openapi: { type: "boolean", default: false } });

/** Validates a query of the gateway API; throws UNPROCESSABLE with all errors. Unknown parameters are ignored. */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, query: unknown): z.output<Schema> {
  const result = schema.safeParse(query);
  if (result.success) return result.data;
  const details = result.error.issues.map((issue) => ({
    path: ["query", ...issue.path.map(String)].join("."),
    message: issue.message.endsWith("received undefined") ? FIELD_REQUIRED : issue.message,
  }));
  const param = String(result.error.issues[0]?.path[0] ?? "");
  throw new AppError("UNPROCESSABLE", `${param}: ${details[0]?.message}`, { details, param });
}
