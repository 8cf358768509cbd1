import { createHash } from "node:crypto";
import { mistral as declaration, MISTRAL_PARAMS } from "../../../../common/providers/mistral.ts";
import { createOpenAiProvider } from "../openai-compatible/create.ts";
import type { Fields } from "../provider.ts";
import { asFields, asList, asText, present } from "../shared/json-fields.ts";

/** Mistral answers 422 to an unknown field, so no others may be sent. */
const FIELDS = new Set([
  ...MISTRAL_PARAMS,
  "model",
  "messages",
  "random_seed",
  "reasoning_effort",
  "safe_prompt",
  "prompt_mode",
  "metadata",
]);

/** Mistral: close to OpenAI, with its own names and refusals. */
export const mistral = createOpenAiProvider({
  declaration,
  shapeChat: shapeForMistral,
  shapeEmbeddings: ({ input, dimensions }) => present({ input, output_dimension: dimensions }),
});

function shapeForMistral(fields: Fields): Fields {
  const known = Object.fromEntries(Object.entries(fields).filter(([name]) => FIELDS.has(name)));
  const { seed, stream_options: _options, messages, reasoning_effort: effort, ...others } = known;
  return present({
    ...others,
    ...toolsFor(others),
    messages: asList(messages).map(asFields).flatMap(messageFor),
    random_seed: seed,
    // It has only off and on.
    reasoning_effort: effort === undefined ? undefined : effort === "none" || effort === "minimal" ? "none" : "high",
  });
}

/** `required` is `any` here; for a named tool only that one is offered. */
function toolsFor({ tools, tool_choice: choice }: Fields): Fields {
  if (choice === "required") return { tool_choice: "any" };
  const name = asText(asFields(asFields(choice)["function"])["name"]);
  if (name === undefined) return {};
  return { tool_choice: "any", tools: asList(tools).filter((tool) => asFields(asFields(tool)["function"])["name"] === name) };
}

function messageFor(message: Fields): Fields[] {
  const { role, content, tool_calls: toolCalls } = message;
  if (role === "assistant") return assistantFor(message);
  if (role === "tool") return [{ role, content: content ?? "", tool_call_id: mistralToolId(message["tool_call_id"]), ...named(message) }];
  // The deprecated pair of an assistant's function_call and its result: one id for both, made from the name.
  if (role === "function") {
    return [{ role: "tool", content: content ?? "", tool_call_id: mistralToolId(`function:${message["name"]}`), ...named(message) }];
  }
  return [present({ role: role === "developer" ? "system" : role, content, tool_calls: toolCalls })];
}

function named({ name }: Fields): Fields {
  return asText(name) === undefined ? {} : { name };
}

function assistantFor({ content, tool_calls: toolCalls, function_call: called, prefix }: Fields): Fields[] {
  const calls = [
    ...asList(toolCalls)
      .map(asFields)
      .map((call) => ({ id: mistralToolId(call["id"]), type: "function", function: call["function"] })),
    ...(called === undefined || called === null
      ? []
      : [{ id: mistralToolId(`function:${asFields(called)["name"]}`), type: "function", function: called }]),
  ];
  const isEmpty = content === undefined || content === null || content === "" || (Array.isArray(content) && content.length === 0);
  // An empty assistant turn is refused.
  if (isEmpty && calls.length === 0) return [];
  return [present({ role: "assistant", content: isEmpty ? undefined : content, tool_calls: calls.length > 0 ? calls : undefined, prefix })];
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Ids must be nine letters or digits. Hashed, not truncated: ids of one answer often begin alike. Equal ids give equal results. */
function mistralToolId(id: unknown): string {
  const text = String(id);
  if (/^[A-Za-z0-9]{9}$/.test(text)) return text;
  return [...createHash("sha256").update(text).digest().subarray(0, 9)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
}
