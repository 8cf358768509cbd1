import type { Fields, UpstreamFailure } from "../provider.ts";
import { asFields, asList, asText } from "./json-fields.ts";

export interface UpstreamErrorFields {
  readonly message: string | undefined;
  /** Codes, types and reasons of the upstream's error, in lower case. */
  readonly words: ReadonlySet<string>;
  readonly param: string | undefined;
  /** The code of an error in OpenAI's format, which clients compare: `unsupported_value`. Numbers and names of other formats are none. */
  readonly code: string | undefined;
}

const MESSAGE_LENGTH_MAX = 2000;
const CODE_PATTERN = /^[a-z][a-z_]{2,63}$/;

/** The fields of an error body, in any known format: OpenAI, Anthropic, Google, AWS, Cohere, FastAPI, bare text. */
export function readErrorFields({ headers, body }: UpstreamFailure): UpstreamErrorFields {
  // Google's streams wrap the error in a list.
  const outer = asFields(Array.isArray(body) ? body[0] : body);
  const inner = asFields(outer["error"]);
  const invalid = firstInvalid(outer["detail"] ?? asFields(outer["message"])["detail"]);
  const text =
    asText(inner["message"]) ??
    asText(outer["error"]) ??
    asText(outer["message"]) ??
    asText(outer["Message"]) ??
    invalid?.message ??
    asText(outer["detail"]) ??
    asText(body);
  const words = [
    ...namesIn(outer),
    ...namesIn(inner),
    ...namesIn(asFields(inner["innererror"])),
    ...reasonsIn(inner),
    ...namesInHeaders(headers),
  ];
  const code = asText(inner["code"]);
  return {
    code: code !== undefined && CODE_PATTERN.test(code) ? code : undefined,
    message: text === undefined ? undefined : cleanMessage(text),
    words: new Set(words.map((word) => word.toLowerCase())),
    param: asText(inner["param"]) ?? asText(outer["param"]) ?? invalid?.param,
  };
}

const HIDDEN = "[hidden]";

/** The operator's keys, accounts and addresses that upstreams repeat in their messages. */
const PRIVATE_PATTERNS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|nvapi|csk|pplx|fw|key|tgp_v1)[-_][A-Za-z0-9*_.-]{6,}/g,
  /\bAIza[\w*-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  /\bBearer\s+[\w.~+/=-]+/gi,
  /\b(?:org|organization|proj|project|acct|user|team)[-_][A-Za-z0-9]{8,}/g,
  /\barn:aws[\w-]*:[^\s"'`,)]+/g,
  /\bprojects\/[\w.:-]+/g,
  /\b\d{12}\b/g,
  /\b[\w.+-]+@[\w-]+\.[\w.-]+/g,
  /\b[\w-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com\b/g,
];

/** An upstream's text as callers may read it. */
function cleanMessage(text: string): string {
  return PRIVATE_PATTERNS.reduce((cleaned, pattern) => cleaned.replace(pattern, HIDDEN), text.slice(0, MESSAGE_LENGTH_MAX));
}

function namesIn(fields: Fields): string[] {
  return ["code", "type", "status", "error_type", "__type"].flatMap((name) => asText(fields[name]) ?? []);
}

/** Google has the real reason in the details: API_KEY_INVALID is a plain INVALID_ARGUMENT above them. */
function reasonsIn(error: Fields): string[] {
  return asList(error["details"]).flatMap((detail) => asText(asFields(detail)["reason"]) ?? []);
}

/** AWS: `ThrottlingException:http://…` */
function namesInHeaders(headers: UpstreamFailure["headers"]): string[] {
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "x-amzn-errortype")?.[1];
  return type === undefined ? [] : [type.split(":")[0] as string];
}

/** FastAPI: { detail: [{ loc: ["body", "messages", 0], msg, type }] } */
function firstInvalid(detail: unknown): { message: string; param: string | undefined } | undefined {
  const first = asFields(asList(detail)[0]);
  const message = asText(first["msg"]);
  if (message === undefined) return undefined;
  const place = asList(first["loc"]).filter((step, index) => !(index === 0 && step === "body"));
  return { message, param: place.length > 0 ? place.join(".") : undefined };
}
