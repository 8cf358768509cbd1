import { AppError } from "../../../../common/errors.ts";

const REASONS: Readonly<Record<string, string>> = {
  stop: "stop",
  eos: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  length: "length",
  model_length: "length",
  max_tokens: "length",
  tool_calls: "tool_calls",
  tool_use: "tool_calls",
  function_call: "function_call",
  content_filter: "content_filter",
  safety: "content_filter",
};

/** Reasons that are failures: there is no answer, whatever the status was. */
const FAILURES = new Set(["error", "abort", "insufficient_system_resource", "malformed_function_call"]);

/** A server's finish reason as OpenAI's. A plain stop after tool calls is `tool_calls`: agents depend on it. */
export function readFinishReason(reason: string, { calledTools }: { calledTools: boolean }): string {
  const word = reason.toLowerCase();
  if (FAILURES.has(word))
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider's answer ended before it was complete.", {
      internal: `finish reason ${word}`,
    });
  const known = REASONS[word] ?? "stop";
  return known === "stop" && calledTools ? "tool_calls" : known;
}
