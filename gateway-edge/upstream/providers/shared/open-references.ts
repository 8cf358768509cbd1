import { AppError } from "../../../../common/errors.ts";
import type { Fields, Provider, ProviderTarget, UpstreamRequest } from "../provider.ts";

/** An address that a provider reads without the operator's credentials, or the content itself. */
const OPEN = /^(?:https?:\/\/|data:)/i;
const SCHEME = /^[\s\p{Cc}]*[a-z][a-z0-9+.-]*:/iu;
/** Some servers take base64 without `data:` in place of a URL. Shorter texts may be paths. */
const BASE64 = /^[A-Za-z0-9+/_-]{64,}={0,2}$/;

/** Fields that name media or files, in any of the APIs that requests arrive in. */
const NAMES: ReadonlySet<string> = new Set(
  [
    "audio_url document_url file file_data fileData file_id file_url image image_url images input_audio input_image_mask",
    "mask s3Location source video video_url",
  ].flatMap((names) => names.split(" ")),
);
/** Of these and of what is in them, those that are URLs. */
const URLS: ReadonlySet<string> = new Set("audio_url document_url file_uri fileUri file_url image_url uri url video_url".split(" "));
/** Fields with messages, items or parts of them. */
const PARTS: ReadonlySet<string> = new Set(
  [
    "content contents extra_body functionResponse function_response generateContentRequest generate_content_request input messages output",
    "parts prediction requests system systemInstruction system_instruction tools",
  ].flatMap((names) => names.split(" ")),
);
/** Texts beside a reference. */
const LABELS: ReadonlySet<string> = new Set("context detail filename format media_type mime_type mimeType name title type".split(" "));

/**
 * A provider that gets from clients only bytes and public addresses. It reads objects of cloud storage and local files with the operator's
 * identity, so that a client would read what is the operator's. Ids of objects in the provider account pass: they cannot be guessed.
 */
export function withOpenReferences(provider: Provider): Provider {
  const { chat, responses, messages, completions, embeddings, moderations, images, remoteCount } = provider;
  return {
    ...provider,
    ...(chat && { chat: checked(chat) }),
    ...(responses && { responses: checked(responses) }),
    ...(messages && { messages: checked(messages) }),
    ...(completions && { completions: checked(completions) }),
    ...(embeddings && { embeddings: checked(embeddings) }),
    ...(moderations && { moderations: checked(moderations) }),
    ...(images && { images: checked(images) }),
    ...(remoteCount && {
      remoteCount: {
        ...remoteCount,
        buildRequest: (call, target) => {
          refuseClosedReferences(call.proxied?.body ?? { ...call.body, contents: call.contents });
          return remoteCount.buildRequest(call, target);
        },
      },
    }),
  };
}

interface Builder<Call> {
  buildRequest(call: Call, target: ProviderTarget): UpstreamRequest;
}

function checked<Call extends { readonly body: Fields }, Adapter extends Builder<Call>>(adapter: Adapter & Builder<Call>): Adapter {
  return {
    ...adapter,
    buildRequest: (call: Call, target: ProviderTarget) => {
      refuseClosedReferences(call.body);
      return adapter.buildRequest(call, target);
    },
  };
}

/** Throws UNSUPPORTED_PARAMETER for a body with a reference that is neither a public address nor the content itself. */
export function refuseClosedReferences(body: Fields): void {
  const at = closedIn(body);
  if (at !== undefined) throw closedReference(at.replace(/^\./, ""));
}

export function isOpenUrl(text: string): boolean {
  return OPEN.test(text);
}

export function closedReference(param: string): AppError {
  const message = `${param}: only https, http and data URLs are accepted, because a provider reads other addresses with the operator's credentials. Send the content as a data URL.`;
  return new AppError("UNSUPPORTED_PARAMETER", message, { param });
}

/** The place of a closed reference in a message, an item, a part or a whole body. */
function closedIn(fields: Fields): string | undefined {
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    // The label of a search result is a text; media have an object there.
    const isReference = NAMES.has(name) && !(name === "source" && typeof value === "string");
    const at = isReference ? closedBelow(value, name) : PARTS.has(name) ? closedInParts(value, name) : undefined;
    if (at !== undefined) return `.${name}${at}`;
  }
  return undefined;
}

function closedInParts(value: unknown, name: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return firstOf(value, (each) => (isObject(each) ? closedIn(each) : undefined));
  // The input of a tool call is the model's, and no provider reads what it names.
  return name === "input" ? undefined : closedIn(value as Fields);
}

/** Everything below a field that names media. */
function closedBelow(value: unknown, name: string): string | undefined {
  if (typeof value === "string") return isClosed(value, name) ? "" : undefined;
  if (Array.isArray(value)) return firstOf(value, (each) => closedBelow(each, name));
  if (!isObject(value)) return undefined;
  for (const inner of Object.keys(value)) {
    if (LABELS.has(inner) || (inner === "data" && value["type"] === "text")) continue;
    const at = inner === "content" ? closedInParts(value[inner], inner) : closedBelow(value[inner], inner);
    if (at !== undefined) return `.${inner}${at}`;
  }
  return undefined;
}

function isClosed(text: string, name: string): boolean {
  if (OPEN.test(text)) return false;
  return URLS.has(name) ? !BASE64.test(text) : SCHEME.test(text.slice(0, 64));
}

function firstOf(list: readonly unknown[], find: (each: unknown) => string | undefined): string | undefined {
  for (const [index, each] of list.entries()) {
    const at = find(each);
    if (at !== undefined) return `[${index}]${at}`;
  }
  return undefined;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
