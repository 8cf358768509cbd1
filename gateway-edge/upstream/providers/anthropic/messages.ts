import { defined } from "../../../../common/defined.ts";
import { claudeRules } from "../../../../common/providers/shared/claude-rules.ts";
import type {
  Fields,
  Framing,
  ProviderTarget,
  ProxiedAdapter,
  ProxiedCall,
  ReportedUsage,
  StreamPart,
  UpstreamEvent,
  UpstreamRequest,
} from "../provider.ts";
import { claudeSampling, thinkingWithin } from "../shared/claude-models.ts";
import { asFields, asList, asText, brokenOff, malformed, parseEvent } from "../shared/json-fields.ts";
import { readInlineError } from "../shared/read-upstream-error.ts";
import { isCodeRun, readAnthropicUsage } from "./answer.ts";
import { StreamedFees } from "./streamed-fees.ts";
import { refuseUnpriced } from "./unpriced.ts";

/** The key under which parts of a stream hold the provider's own events. */
export const MESSAGE_EVENTS = "message_events";

/** One event of a message's stream, with its data as it arrived. */
export interface ProxiedEvent {
  readonly type: string;
  readonly data: string;
  readonly fields: Fields;
}

interface MessagesServer {
  readonly framing: Framing;
  /** Whether such a deployment has the API where the operator did not say so. */
  isUsual(target: ProviderTarget): boolean;
  request(body: Fields, call: ProxiedCall, target: ProviderTarget): UpstreamRequest;
  /** The event's JSON, where the server wraps it; throws for an error event of the server's own. */
  readonly dataOf?: (event: UpstreamEvent) => string;
}

/** A server with Anthropic's Messages API. The operator's `supports_messages` in model_info takes precedence over `isUsual`. */
export function messagesOf({ framing, isUsual, request, dataOf = ({ data }) => data }: MessagesServer): ProxiedAdapter {
  return {
    isSpokenBy: (target) => {
      const said = target.info?.["supports_messages"];
      return typeof said === "boolean" ? said : isUsual(target);
    },
    framing,
    buildRequest: (call, target) => request(messageFields(call, target), call, target),
    readAnswer: (answer) => readMessage(asFields(answer)),
    readStream: (events) => readStream(events, dataOf),
  };
}

/** The caller's body with what the gateway must set: the output limit, and the operator's default sampling. */
function messageFields({ body, stream, maxOutputTokens }: ProxiedCall, target: ProviderTarget): Fields {
  refuseUnpriced(body);
  const { max_tokens: asked, thinking, metadata } = body;
  const isLowered = thinking !== undefined && asked !== maxOutputTokens;
  const limited = isLowered ? { thinking: undefined, ...thinkingWithin(asFields(thinking), maxOutputTokens) } : {};
  const model = { model: target.inferenceModelId, max_tokens: maxOutputTokens, stream: stream || undefined };
  return defined({ ...defaultSampling(body, target), ...body, ...limited, ...model, metadata: metadataOf(metadata) });
}

function defaultSampling(body: Fields, { params, inferenceModelId }: ProviderTarget): Fields {
  if (body["temperature"] !== undefined || body["top_p"] !== undefined) return {};
  const { temperature, top_p } = params;
  return claudeSampling(
    { temperature: temperature ?? undefined, top_p: top_p ?? undefined },
    { rules: claudeRules(inferenceModelId), thinking: body["thinking"] },
  );
}

/** Without LiteLLM's labels of calls, and without an email address as the user: Anthropic refuses both. */
function metadataOf(value: unknown): Fields | undefined {
  if (value === undefined) return undefined;
  const { tags: _tags, user_id: user, ...others } = asFields(value);
  const metadata = defined({ ...others, user_id: asText(user)?.includes("@") ? undefined : user });
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

function readMessage(message: Fields): { proxied: Fields; usage: ReportedUsage | undefined; text: string } {
  if (message["type"] === "error") throw readInlineError(message);
  if (!Array.isArray(message["content"])) throw malformed("an answer without content");
  const blocks = asList(message["content"]).map(asFields);
  const usage = readAnthropicUsage(message["usage"], { ranCode: blocks.some(isCodeRun) });
  return { proxied: message, usage, text: blocks.map(blockText).join("") };
}

/** What counts as output where the provider does not report usage. */
function blockText(block: Fields): string {
  const input = block["input"] === undefined ? "" : JSON.stringify(block["input"]);
  return startText(block) + input;
}

function startText({ text, thinking, name }: Fields): string {
  return (asText(text) ?? "") + (asText(thinking) ?? "") + (asText(name) ?? "");
}

/** Before the first content another deployment can be tried. */
const OPENING = new Set(["message_start", "ping"]);

/** Forwards events as they arrive. Only `message_stop` is an end; a stream that is cut before it is broken. */
async function* readStream(events: AsyncIterable<UpstreamEvent>, dataOf: (event: UpstreamEvent) => string): AsyncGenerator<StreamPart> {
  let waiting: ProxiedEvent[] = [];
  let isShown = false;
  let usage: Fields = {};
  const streamed = new StreamedFees();
  for await (const event of events) {
    const data = dataOf(event);
    const fields = parseEvent(data);
    const type = String(fields["type"]);
    if (type === "error") throw readInlineError(fields);
    waiting.push({ type, data, fields });
    // Later numbers are cumulative: they replace earlier ones.
    usage = { ...usage, ...known(asFields(fields["message"])["usage"]), ...known(fields["usage"]) };
    const fees = type === "content_block_start" ? streamed.take(asFields(fields["content_block"])) : undefined;
    if (!isShown && OPENING.has(type)) continue;
    const reported = type === "message_delta" ? readAnthropicUsage(usage, streamed) : undefined;
    if (reported) yield { type: "usage", usage: reported };
    yield { type: "other-delta", choice: 0, fields: { [MESSAGE_EVENTS]: waiting }, text: eventText(type, fields), ...(fees && { fees }) };
    if (type === "message_stop") return;
    isShown = true;
    waiting = [];
  }
  throw brokenOff();
}

function known(usage: unknown): Fields {
  return Object.fromEntries(Object.entries(asFields(usage)).filter(([, value]) => value !== null));
}

function eventText(type: string, fields: Fields): string {
  if (type === "content_block_start") return startText(asFields(fields["content_block"]));
  if (type !== "content_block_delta") return "";
  // The text of a compaction is not counted: it is not bound by max_tokens.
  const { text, thinking, partial_json: json } = asFields(fields["delta"]);
  return asText(text) ?? asText(thinking) ?? asText(json) ?? "";
}
