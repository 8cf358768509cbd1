import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";

/** Parameters that OpenAI documents; a model may not support each of them. Fields in no list are passed through unchanged. */
const KNOWN = new Set([
  "audio",
  "frequency_penalty",
  "function_call",
  "functions",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "modalities",
  "n",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "reasoning_effort",
  "response_format",
  "seed",
  "service_tier",
  "stop",
  "temperature",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "verbosity",
  "web_search_options",
  "dimensions",
  "suffix",
  "echo",
  "best_of",
]);

/** The gateway sets output limits itself, under the provider's name for them. */
const ALWAYS = new Set(["max_tokens", "max_completion_tokens"]);

/** A body with only the parameters that the model supports; the others are refused by name, or dropped where that is allowed. */
export function keepSupported<Body extends Fields>(body: Body, supported: readonly string[], dropParams: boolean): Body {
  const unsupported = unsupportedBeside(supported);
  const names = Object.keys(body);
  if (!names.some((name) => unsupported.has(name))) return body;
  const lacking = names.filter((name) => unsupported.has(name));
  const refused = lacking.filter((name) => !isNeutral(name, body[name]));
  if (refused.length > 0 && !dropParams) {
    throw new AppError("UNSUPPORTED_PARAMETER", `The model does not support ${refused.join(", ")}. Leave it out, or set drop_params.`, {
      param: refused[0],
    });
  }
  return Object.fromEntries(Object.entries(body).filter(([name]) => !lacking.includes(name))) as Body;
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Known parameters that are not in the list. Adapters have one list for each model family. */
function unsupportedBeside(supported: readonly string[]): ReadonlySet<string> {
  const known = sets.get(supported);
  if (known) return known;
  const made = new Set([...KNOWN].filter((name) => !ALWAYS.has(name) && !supported.includes(name)));
  sets.set(supported, made);
  return made;
}

// The default, such as one choice or no penalty, so the parameter has no effect.
function isNeutral(name: string, value: unknown): boolean {
  if (name === "n" || name === "best_of" || name === "temperature" || name === "top_p") return value === 1;
  if (name === "frequency_penalty" || name === "presence_penalty") return value === 0;
  if (name === "logprobs" || name === "echo") return value === false;
  if (name === "parallel_tool_calls") return value === true;
  return Array.isArray(value) && value.length === 0;
}
