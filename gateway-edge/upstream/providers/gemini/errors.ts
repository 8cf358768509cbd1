import { AppError } from "../../../../common/errors.ts";
import type { UpstreamFailure } from "../provider.ts";
import { asFields, asText } from "../shared/json-fields.ts";
import { readInlineError, readUpstreamError } from "../shared/read-upstream-error.ts";

const MESSAGE_LENGTH_MAX = 2000;
/** Vertex's text for a prompt that is too long. */
const TOO_LONG = /input token count .*(model only supports|exceeds)/i;

export function readGeminiError(failure: UpstreamFailure): AppError {
  return refined(readUpstreamError(failure), failure.body);
}

/** An error frame within a stream. */
export function readGeminiInlineError(body: unknown): AppError {
  return refined(readInlineError(body), body);
}

/** Errors that Google sends as a plain 400 with another meaning. */
function refined(error: AppError, body: unknown): AppError {
  const { message, status } = asFields(asFields(Array.isArray(body) ? body[0] : body)["error"]);
  if (error.code !== "INVALID_REQUEST") return error;
  const { internal } = error;
  if (TOO_LONG.test(asText(message)?.slice(0, MESSAGE_LENGTH_MAX) ?? ""))
    return new AppError("CONTEXT_LENGTH_EXCEEDED", error.message, { internal });
  // About the operator's account: billing is off, or the region is not supported.
  if (status === "FAILED_PRECONDITION") return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal });
  return error;
}
