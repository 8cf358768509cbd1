import { defined } from "../../../../common/defined.ts";
import { AppError } from "../../../../common/errors.ts";
import { BEDROCK_PARAMS, BEDROCK_SAMPLING, type BedrockRules, bedrockRules } from "../../../../common/providers/bedrock.ts";
import { betasOf } from "../anthropic/headers.ts";
import { messagesOf as proxiedMessagesOf } from "../anthropic/messages.ts";
import type { ChatCall, Fields, ProviderTarget, RemoteCount, Signing, UpstreamRequest } from "../provider.ts";
import { fieldsOfTheirs, type JsonFormat, readJsonFormat, readStops } from "../shared/chat-tools.ts";
import { readConversation } from "../shared/chat-turns.ts";
import { asFields, asText, parseEvent } from "../shared/json-fields.ts";
import { countable, readCount } from "../shared/remote-count.ts";
import { messagesOf, systemOf } from "./blocks.ts";
import { modelFields } from "./models.ts";
import { readException } from "./stream.ts";
import { type ToolOffer, toolOffer } from "./tools.ts";

/** Fields of Converse itself; the operator's values override the caller's. */
const CONVERSE_FIELDS = ["additionalModelResponseFieldPaths", "guardrailConfig", "performanceConfig", "promptVariables", "requestMetadata"];
/** OpenAI's tiers that Bedrock has too. */
const SERVICE_TIERS = new Set(["default", "flex", "priority"]);

export function buildBedrockRequest(call: ChatCall, target: ProviderTarget): UpstreamRequest {
  return bedrockRequest(target, call.stream ? "converse-stream" : "converse", converseBody(call, target));
}

const COUNTED = ["messages", "system", "toolConfig", "additionalModelRequestFields"];

/** CountTokens of a Converse request. */
export const bedrockCount: RemoteCount = {
  tokenizer: "bedrock_api",
  takesContents: false,
  buildRequest: (call, target) =>
    bedrockRequest(target, "count-tokens", { input: { converse: countable(converseBody(call, target), COUNTED) } }),
  readAnswer: (body) => readCount(asFields(body)["inputTokens"]),
};

/** Betas of Anthropic that Bedrock has too; it refuses requests with others. */
const BETAS =
  /^(compact|computer-use|context-1m|context-management|dev-full-thinking|effort|fine-grained-tool-streaming|interleaved-thinking|output-128k|token-efficient-tools|tool-examples|tool-search-tool)-/;

/** The Messages API of Anthropic's models on Bedrock (InvokeModel), for operators that choose it over Converse. */
export const bedrockMessages = proxiedMessagesOf({
  framing: "aws-event-stream",
  isUsual: () => false,
  request: ({ model: _model, stream: _stream, ...body }, { stream, betas = [] }, target) => {
    const all = [...betasOf(target.params["anthropic_beta"]), ...betas.filter((name) => BETAS.test(name))];
    const version = asText(target.params["anthropic_version"]) ?? "bedrock-2023-05-31";
    const fields = { anthropic_version: version, ...body, ...(all.length > 0 && { anthropic_beta: [...new Set(all)] }) };
    return bedrockRequest(target, stream ? "invoke-with-response-stream" : "invoke", fields);
  },
  dataOf: ({ event, data }) => {
    const fields = parseEvent(data);
    if (event !== undefined && /exception$/i.test(event)) throw readException(event, fields);
    return Buffer.from(asText(fields["bytes"]) ?? "", "base64").toString("utf8");
  },
});

/** One of the operations of a model, signed or with the API key. */
function bedrockRequest(target: ProviderTarget, operation: string, body: Fields): UpstreamRequest {
  const path = `model/${encodeURIComponent(target.inferenceModelId)}/${operation}`;
  const headers = { ...extraHeaders(target.params), "content-type": "application/json" };
  const request = { url: `${baseUrl(target)}/${path}`, body: JSON.stringify(body) };
  const signing = signingOf(target);
  if (signing) return { ...request, headers, signing };
  if (target.apiKey === undefined) throw misconfigured("neither AWS keys nor an API key");
  return { ...request, headers: { ...headers, authorization: `Bearer ${target.apiKey}` } };
}

function converseBody(call: ChatCall, { inferenceModelId, params }: ProviderTarget): Fields {
  const { body } = call;
  if (params["performanceConfig"] === undefined) refuseDearer(body);
  // The id of a profile or of an imported model does not name the model; the operator can.
  const rules = bedrockRules(asText(params["base_model"]) ?? inferenceModelId);
  const format = readJsonFormat(body);
  const { system, turns } = readConversation(body.messages, { laterSystem: "hoist" });
  const offer = toolOffer(body, { rules, format, turns });
  const { temperature, topP, additional } = modelFields(body, {
    rules,
    maxOutputTokens: call.maxOutputTokens,
    turns,
    forced: offer.forced,
  });
  const output = outputConfig(format, { rules, offer });
  const systemBlocks = [...systemOf(system), ...(output ? [] : jsonInstruction(format, offer))];
  const additionalFields = { ...fieldsOfTheirs(body, TRANSLATED), ...additional, ...offer.additional, ...betaFields(params) };
  const tier = asText(body["service_tier"]);
  return defined({
    messages: messagesOf(turns),
    system: systemBlocks.length > 0 ? systemBlocks : undefined,
    inferenceConfig: defined({ maxTokens: call.maxOutputTokens, temperature, topP, stopSequences: readStops(body["stop"]) }),
    toolConfig: offer.toolConfig,
    outputConfig: output,
    additionalModelRequestFields: Object.keys(additionalFields).length > 0 ? additionalFields : undefined,
    serviceTier: tier !== undefined && SERVICE_TIERS.has(tier) ? { type: tier } : undefined,
    ...picked(body),
    ...picked(params),
    ...measuredGuardrail(params["guardrailConfig"] ?? body["guardrailConfig"]),
  });
}

/** The native format is used only where the answer cannot be requested as a tool call. */
function outputConfig(format: JsonFormat | undefined, { rules, offer }: { rules: BedrockRules; offer: ToolOffer }): Fields | undefined {
  if (!format?.hasSchema || offer.asksForJson || !rules.claude.nativeSchema) return undefined;
  const jsonSchema = { name: "answer", schema: JSON.stringify(format.schema) };
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } };
}

function jsonInstruction(format: JsonFormat | undefined, { asksForJson }: ToolOffer): Fields[] {
  if (!format || asksForJson) return [];
  const schema = format.hasSchema ? ` It must match this schema: ${JSON.stringify(format.schema)}` : "";
  return [{ text: `Answer with one JSON value and nothing else: no explanation, no code fence.${schema}` }];
}

const TRANSLATED = new Set([
  ...BEDROCK_PARAMS,
  ...BEDROCK_SAMPLING,
  ...CONVERSE_FIELDS,
  "messages",
  "model",
  "parallel_tool_calls",
  "reasoning_effort",
  "thinking",
  "top_k",
]);

function betaFields(params: Fields): Fields {
  const beta = params["anthropic_beta"];
  return beta === undefined ? {} : { anthropic_beta: typeof beta === "string" ? beta.split(",").map((name) => name.trim()) : beta };
}

/** With its trace, which holds what it is billed for. */
function measuredGuardrail(config: unknown): Fields {
  if (config === undefined) return {};
  const { trace } = asFields(config);
  return { guardrailConfig: { ...asFields(config), trace: trace === "enabled_full" ? trace : "enabled" } };
}

/** An optimized latency has a price of its own. The operator can choose it for a deployment, and price that. */
function refuseDearer({ performanceConfig: config }: Fields): void {
  const latency = asFields(config)["latency"] ?? "standard";
  if (latency === "standard") return;
  const what = `performanceConfig.latency ${String(latency).slice(0, 32)}`;
  const message = `${what} costs more than the model's price, which this gateway cannot bill yet. Leave it out.`;
  throw new AppError("UNSUPPORTED_PARAMETER", message, { param: "performanceConfig" });
}

function picked(fields: Fields): Fields {
  return Object.fromEntries(CONVERSE_FIELDS.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])));
}

function baseUrl(target: ProviderTarget): string {
  const given = target.baseUrl ?? asText(target.params["aws_bedrock_runtime_endpoint"]);
  return given?.replace(/(?<!\/)\/+$/, "") ?? `https://bedrock-runtime.${regionOf(target)}.amazonaws.com`;
}

function signingOf(target: ProviderTarget): Signing | undefined {
  const accessKeyId = asText(target.params["aws_access_key_id"]);
  const secretAccessKey = asText(target.params["aws_secret_access_key"]);
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  const keys = { accessKeyId, secretAccessKey, sessionToken: asText(target.params["aws_session_token"]) };
  return { type: "aws-sigv4", service: "bedrock", region: regionOf(target), ...keys };
}

/** From the operator's setting, or from the model's ARN. It becomes part of a host name, so it must look like a region. */
function regionOf({ inferenceModelId, params }: ProviderTarget): string {
  const region = asText(params["aws_region_name"]) ?? /^arn:[\w-]+:bedrock:([\w-]+):/.exec(inferenceModelId)?.[1];
  if (region === undefined || !/^[a-z0-9-]+$/.test(region)) throw misconfigured("no aws_region_name");
  return region;
}

function extraHeaders(params: Fields): Record<string, string> {
  const headers = Object.entries(asFields(params["extra_headers"]));
  return Object.fromEntries(headers.flatMap(([name, value]) => (asText(value) === undefined ? [] : [[name.toLowerCase(), String(value)]])));
}

function misconfigured(what: string): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal: `a Bedrock deployment with ${what}` });
}
