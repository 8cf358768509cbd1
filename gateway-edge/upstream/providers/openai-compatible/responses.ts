import { defined } from "../../../../common/defined.ts";
import type { AppError } from "../../../../common/errors.ts";
import type { Fields, ProviderTarget, ReportedUsage, ResponsesAdapter, StreamPart, UpstreamEvent } from "../provider.ts";
import { asFields, asList, asText, brokenOff, malformed, parseEvent } from "../shared/json-fields.ts";
import { readInlineError } from "../shared/read-upstream-error.ts";
import type { OpenAiEndpoint } from "./media.ts";
import { readResponseUsage, StreamedFees } from "./response-usage.ts";

/** The key under which parts of a stream hold the provider's own events. */
export const RESPONSE_EVENTS = "response_events";

/** Models that OpenAI offers only in chat. */
const CHAT_ONLY = /audio|realtime|search-preview/;

/**
 * A server with OpenAI's Responses API. `isUsual`: whether such a deployment has it where it is not configured; the operator's setting,
 * `supports_responses` or `mode: responses` in model_info, takes precedence.
 */
export function responsesOf(endpoint: OpenAiEndpoint, isUsual: (target: ProviderTarget) => boolean): ResponsesAdapter {
  return {
    isSpokenBy: (target) => {
      const said = target.info?.["supports_responses"];
      if (typeof said === "boolean") return said;
      return target.info?.["mode"] === "responses" || (isUsual(target) && !CHAT_ONLY.test(modelOf(target)));
    },
    reasons: (target) => /^(o\d|gpt-5|codex|computer-use)/.test(modelOf(target)),
    framing: "sse",
    buildRequest: ({ body, stream, maxOutputTokens }, target) => {
      const fields = { ...withDefaults(body, target.params), max_output_tokens: maxOutputTokens, stream: stream || undefined };
      // Responses are stored by the gateway, for the team of the caller; the provider sees one account for all teams.
      return endpoint.request(target, { ...defined(fields), store: false });
    },
    readAnswer: (answer) => readResponse(asFields(answer)),
    readStream,
  };
}

function modelOf({ params, inferenceModelId }: ProviderTarget): string {
  return asText(params["base_model"]) ?? inferenceModelId;
}

/** With the operator's default parameters of the deployment, in this API's names. */
function withDefaults(body: Fields, { temperature, top_p, reasoning_effort: effort }: Fields): Fields {
  const reasoning = asText(effort) === undefined ? {} : { reasoning: { effort, ...asFields(body["reasoning"]) } };
  return { ...defined({ temperature: temperature ?? undefined, top_p: top_p ?? undefined }), ...body, ...reasoning };
}

function readResponse(response: Fields): { proxied: Fields; usage: ReportedUsage | undefined; text: string } {
  if (response["status"] === "failed") throw readInlineError(response);
  if (!Array.isArray(response["output"])) throw malformed("a response without output");
  return { proxied: response, usage: readResponseUsage(response), text: outputText(response["output"]) };
}

/** What counts as output where the provider does not report usage. */
function outputText(output: readonly unknown[]): string {
  return output
    .map(asFields)
    .flatMap((item) => [...asList(item["content"]).map((part) => asFields(part)["text"]), item["arguments"], item["code"]])
    .filter((text) => typeof text === "string")
    .join("");
}

const OPENING = new Set(["response.created", "response.queued", "response.in_progress"]);
const ENDING = new Set(["response.completed", "response.incomplete"]);

/** Forwards events as they arrive. The first ones wait for one with content: until then another deployment can be tried. */
async function* readStream(events: AsyncIterable<UpstreamEvent>): AsyncGenerator<StreamPart> {
  const streamed = new StreamedFees();
  let waiting: Fields[] = [];
  let isShown = false;
  for await (const { data } of events) {
    if (data === "[DONE]") break;
    const event = parseEvent(data);
    const type = String(event["type"]);
    const failure = failureIn(type, event);
    const usage = usageIn(event);
    // A response that failed before any content was shown is not billed: another deployment is tried.
    if (usage && (isShown || !failure)) yield { type: "usage", usage };
    if (failure) throw failure;
    waiting.push(event);
    const fees = streamed.take(type, event);
    if (OPENING.has(type)) continue;
    yield { type: "other-delta", choice: 0, fields: { [RESPONSE_EVENTS]: waiting }, text: textIn(type, event), ...(fees && { fees }) };
    if (ENDING.has(type)) return;
    isShown = true;
    waiting = [];
  }
  throw brokenOff();
}

function usageIn(event: Fields): ReportedUsage | undefined {
  return readResponseUsage(asFields(event["response"]));
}

function textIn(type: string, event: Fields): string {
  return type.endsWith(".delta") ? (asText(event["delta"]) ?? "") : "";
}

function failureIn(type: string, event: Fields): AppError | undefined {
  if (type === "response.failed") return readInlineError(event["response"]);
  if (type !== "error") return undefined;
  // OpenAI has the error's fields in the event itself, others in its `error`.
  const isInside = event["error"] !== undefined && event["error"] !== null;
  return readInlineError(isInside ? event : { error: { ...event, type: undefined } });
}
