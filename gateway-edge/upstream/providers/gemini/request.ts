import { geminiRules } from "../../../../common/providers/gemini.ts";
import type { ChatBody, ChatCall, Fields, ProviderTarget } from "../provider.ts";
import { asFields, asList, asText, present } from "../shared/json-fields.ts";
import { conversationOf } from "./contents.ts";
import { invalid } from "./fields.ts";
import { geminiSchema, takesNothing } from "./schema.ts";

const STOPS_MAX = 5;

/** The body of generateContent, the same for both of Google's APIs. */
export function geminiBody(call: ChatCall, target: ProviderTarget): string {
  const { body } = call;
  const rules = geminiRules(target.inferenceModelId);
  const tools = functionDeclarations(body);
  return JSON.stringify({
    ...conversationOf(body.messages, rules),
    ...(tools.length > 0 ? { tools: [{ functionDeclarations: tools }], ...toolConfig(body["tool_choice"]) } : {}),
    generationConfig: generationConfig(call, target.inferenceModelId),
    ...present({ safetySettings: body["safety_settings"] ?? target.params["safety_settings"] }),
  });
}

function functionDeclarations(body: ChatBody): Fields[] {
  return asList(body["tools"]).map((tool) => {
    const { type, function: declared } = asFields(tool);
    const { name, description, parameters } = asFields(declared);
    // Google's own tools cost by the query, which the model's price does not cover.
    if (type !== "function" || typeof name !== "string") throw invalid("This model takes only function tools.", "tools");
    return {
      name,
      ...present({ description: asText(description) }),
      ...(takesNothing(parameters) ? {} : { parameters: geminiSchema(parameters) }),
    };
  });
}

const CHOICE_MODES: Readonly<Record<string, string>> = { auto: "AUTO", none: "NONE", required: "ANY" };

function toolConfig(choice: unknown): Fields {
  if (choice === undefined) return {};
  const mode = typeof choice === "string" ? CHOICE_MODES[choice] : undefined;
  if (mode !== undefined) return { toolConfig: { functionCallingConfig: { mode } } };
  const name = asText(asFields(asFields(choice)["function"])["name"]);
  if (name === undefined) throw invalid("tool_choice must be auto, none, required or the name of a function.", "tool_choice");
  return { toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [name] } } };
}

function generationConfig({ body, maxOutputTokens }: ChatCall, inferenceModelId: string): Fields {
  return present({
    maxOutputTokens,
    temperature: body["temperature"],
    topP: body["top_p"],
    topK: body["top_k"],
    stopSequences: stopSequences(body["stop"]),
    candidateCount: body["n"] === 1 ? undefined : body["n"],
    seed: body["seed"],
    frequencyPenalty: body["frequency_penalty"],
    presencePenalty: body["presence_penalty"],
    ...(body["logprobs"] === true ? { responseLogprobs: true, logprobs: body["top_logprobs"] } : {}),
    responseModalities: body["modalities"] === undefined ? undefined : asList(body["modalities"]).map((each) => String(each).toUpperCase()),
    ...answerFormat(asFields(body["response_format"])),
    thinkingConfig: thinkingConfig(body["reasoning_effort"], inferenceModelId),
  });
}

/** A caller may send more stop sequences than Google takes; dropping some would silently change the answer. */
function stopSequences(stop: unknown): readonly unknown[] | undefined {
  const list = typeof stop === "string" ? [stop] : asList(stop);
  if (list.length > STOPS_MAX) throw invalid(`This model takes at most ${STOPS_MAX} stop sequences.`, "stop");
  return list.length > 0 ? list : undefined;
}

function answerFormat({ type, json_schema: format }: Fields): Fields {
  if (type === "json_object") return { responseMimeType: "application/json" };
  if (type !== "json_schema") return {};
  const { schema } = asFields(format);
  return { responseMimeType: "application/json", ...(schema === undefined ? {} : { responseSchema: geminiSchema(schema) }) };
}

function thinkingConfig(effort: unknown, inferenceModelId: string): Fields | undefined {
  const { thinking } = geminiRules(inferenceModelId);
  if (effort === undefined || thinking === undefined) return undefined;
  const amount = Object.hasOwn(thinking.efforts, String(effort)) ? thinking.efforts[String(effort)] : undefined;
  if (amount === undefined)
    throw invalid(`This model does not support reasoning_effort ${String(effort).slice(0, 32)}.`, "reasoning_effort");
  const named = thinking.by === "budget" ? { thinkingBudget: amount } : { thinkingLevel: amount };
  return { ...named, includeThoughts: amount !== 0 && effort !== "none" };
}
