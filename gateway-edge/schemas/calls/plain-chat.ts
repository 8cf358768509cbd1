import { INT32_MAX } from "../fields.ts";
import { MESSAGES_MAX } from "./sizes.ts";

const MODEL_LENGTH_MAX = 256;
const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant"]);

/**
 * A fast check for chat requests of plain text messages and common settings that the schema would accept. Most requests pass it; for them
 * the schema's check of every possible field costs more than to parse the JSON. If the result is false, the schema decides.
 */
export function isPlainChat(body: unknown): boolean {
  if (!isObject(body)) return false;
  const { model, messages } = body;
  if (typeof model !== "string" || model.length === 0 || model.length > MODEL_LENGTH_MAX) return false;
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > MESSAGES_MAX) return false;
  for (const name of Object.keys(body)) {
    if (name !== "model" && name !== "messages" && CHECKS.get(name)?.(body[name]) !== true) return false;
  }
  return messages.every(isPlainMessage);
}

const isFlag = (value: unknown) => typeof value === "boolean";
const isLimit = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= INT32_MAX;
const isWithin = (min: number, max: number) => (value: unknown) => typeof value === "number" && value >= min && value <= max;

const CHECKS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["stream", isFlag],
  ["max_tokens", isLimit],
  ["max_completion_tokens", isLimit],
  ["temperature", isWithin(0, 2)],
  ["top_p", isWithin(0, 1)],
  ["user", (value: unknown) => typeof value === "string"],
  ["stream_options", (value: unknown) => isObject(value) && Object.keys(value).length === 1 && isFlag(value["include_usage"])],
]);

function isPlainMessage(message: unknown): boolean {
  if (!isObject(message)) return false;
  return ROLES.has(message["role"]) && typeof message["content"] === "string" && Object.keys(message).length === 2;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
