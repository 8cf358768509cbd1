import { jsonDepthExceeds } from "../../common/json.ts";
import { TrainerError } from "../errors.ts";
import type { Operation } from "../pool/messages.ts";
import { aggregate } from "./aggregate.ts";
import { evaluate } from "./evaluate.ts";
import type { OperationContext } from "./participant.ts";
import { train } from "./train.ts";

export const JSON_DEPTH_MAX = 64;

const OPERATIONS: Readonly<Record<Operation, (value: unknown, context: OperationContext) => object>> = { train, evaluate, aggregate };

/** One call from the bytes of its body to the bytes of its answer; throws what the caller did wrong. */
export function runOperation(operation: Operation, body: Uint8Array, context: OperationContext): Uint8Array<ArrayBuffer> {
  const answer = OPERATIONS[operation](parseJsonObject(body), context);
  return new TextEncoder().encode(JSON.stringify(answer));
}

function parseJsonObject(body: Uint8Array): object {
  if (body.byteLength === 0) throw new TrainerError("MALFORMED_JSON", "The body is empty; send a JSON object.");
  const text = decodeUtf8(body);
  // Before parsing: what is too deep for us is too deep for whatever reads the parsed value, too.
  if (jsonDepthExceeds(text, JSON_DEPTH_MAX))
    throw new TrainerError("MALFORMED_JSON", `The body is nested deeper than ${JSON_DEPTH_MAX} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TrainerError("MALFORMED_JSON", "The body is not JSON.", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TrainerError("VALIDATION_ERROR", "The body must be a JSON object.");
  }
  return value;
}

function decodeUtf8(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw new TrainerError("MALFORMED_JSON", "The body is not UTF-8.", { cause });
  }
}
