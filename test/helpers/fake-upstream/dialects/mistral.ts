import type { Dialect } from "../dialect.ts";
import { openai } from "./openai.ts";

/** OpenAI's format with Mistral's errors, including its strict rule that tool call IDs are nine letters or digits. */
export const mistral: Dialect = {
  ...openai,
  refusal(failure) {
    const { status, body } = openai.refusal(failure);
    const { message, code } = (body as { error: { message: string; code: string } }).error;
    const words = failure === "context" ? "Prompt contains 9000 tokens, too large for model with 4096 maximum context length" : message;
    return {
      status,
      body: { object: "error", message: words, type: "invalid_request_error", param: null, code: status === 400 ? "3051" : code },
    };
  },
};
