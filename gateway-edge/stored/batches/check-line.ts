import { jsonDepthExceeds } from "../../../common/json.ts";
import type { BatchEndpoint, BatchError } from "../../schemas/stored/batches.ts";

/** A valid line of the input. */
export interface BatchLine {
  readonly customId: string;
  readonly body: Record<string, unknown>;
}

export type Problem = Pick<BatchError, "code" | "message" | "param">;

const JSON_DEPTH_MAX = 64;
const CUSTOM_ID_LENGTH_MAX = 512;

/** Parses a line of the input; returns the problem if it is not valid. */
export function checkLine(text: string, endpoint: BatchEndpoint): BatchLine | Problem {
  const line = jsonObject(text);
  if (!line) return problem("invalid_json_line", "This line is not a JSON object.", null);
  const { custom_id: customId, method, url, body } = line;
  if (typeof customId !== "string" || customId === "" || customId.length > CUSTOM_ID_LENGTH_MAX) {
    return problem("missing_required_parameter", `custom_id must be a string of 1 to ${CUSTOM_ID_LENGTH_MAX} characters.`, "custom_id");
  }
  if (method !== "POST") return problem("invalid_method", "method must be POST.", "method");
  if (url !== endpoint) return problem("invalid_url", `url must be ${endpoint}, the batch's endpoint.`, "url");
  if (!isObject(body)) return problem("missing_required_parameter", "body must be an object.", "body");
  if (body["stream"] === true)
    return problem("unsupported_parameter", "A request of a batch cannot be streamed. Remove stream or set it to false.", "body.stream");
  return { customId, body };
}

export function isProblem(checked: BatchLine | Problem): checked is Problem {
  return "code" in checked;
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  if (jsonDepthExceeds(text, JSON_DEPTH_MAX)) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function problem(code: string, message: string, param: string | null): Problem {
  return { code, message, param };
}
