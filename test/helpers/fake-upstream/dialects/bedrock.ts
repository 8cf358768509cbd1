import { crc32 } from "node:zlib";
import { argumentsOf, type Dialect, type FailureTable, type Frame } from "../dialect.ts";
import type { Finish, Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "ValidationException", "Input is too long for requested model."],
  policy: [400, "ValidationException", "The request was blocked by our content management policy."],
  auth: [403, "UnrecognizedClientException", "The security token included in the request is invalid."],
  "rate-limit": [429, "ThrottlingException", "Too many requests, please wait before trying again."],
  server: [500, "InternalServerException", "The system encountered an unexpected error."],
  overloaded: [503, "ServiceUnavailableException", "Bedrock is unable to process your request."],
  "bad-request": [400, "ValidationException", "1 validation error detected"],
};
const STOPS: Readonly<Record<Finish, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "guardrail_intervened",
  malformed: "malformed_model_output",
};

/** Bedrock's Converse API, with real event-stream frames. */
export const bedrock: Dialect = {
  streamType: "application/vnd.amazon.eventstream",
  read(path, body) {
    const found = /\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path);
    if (!found) return undefined;
    const [, model = "", method] = found;
    return { operation: "chat", model: decodeURIComponent(model), stream: method === "converse-stream", body };
  },
  whole: (reply) => ({
    output: { message: { role: "assistant", content: reply.pieces.map(blockOf) } },
    stopReason: STOPS[reply.finish],
    usage: usageOf(reply),
    metrics: { latencyMs: 1 },
  }),
  frames: (reply) => framesOf(reply),
  refusal(failure) {
    const [status, type, message] = FAILURES[failure];
    return { status, headers: { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/` }, body: { message } };
  },
  failureFrame(failure) {
    const [, type, message] = FAILURES[failure];
    const name = `${type.charAt(0).toLowerCase()}${type.slice(1)}`;
    return encodeFrame({ ":message-type": "exception", ":exception-type": name, ":content-type": "application/json" }, { message });
  },
  forcedTool: (body) => body?.toolConfig?.toolChoice?.tool?.name,
};

function usageOf({ usage }: Reply): unknown {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output + cacheRead + cacheWrite,
    cacheReadInputTokens: cacheRead,
    cacheWriteInputTokens: cacheWrite,
  };
}

function blockOf(piece: Piece): unknown {
  if (piece.type === "text") return { text: piece.text };
  if (piece.type === "reasoning") return { reasoningContent: { reasoningText: { text: piece.text, signature: piece.signature ?? "" } } };
  return { toolUse: { toolUseId: piece.id, name: piece.name, input: argumentsOf(piece.fragments) } };
}

const event = (type: string, payload: object, content = false): Frame => ({
  // Bedrock adds this padding to hide lengths.
  bytes: encodeFrame({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }, { ...payload, p: "abcdefgh" }),
  content,
});

/** Blocks are numbered from 1, so that a reader that takes this number for the index of the tool call is detected. */
function framesOf(reply: Reply): Frame[] {
  return [
    event("messageStart", { role: "assistant" }),
    ...reply.pieces.flatMap((piece, index) => blockFrames(piece, index + 1)),
    event("messageStop", { stopReason: STOPS[reply.finish] }),
    event("metadata", { usage: usageOf(reply), metrics: { latencyMs: 1 } }),
  ];
}

function blockFrames(piece: Piece, contentBlockIndex: number): Frame[] {
  const delta = (fields: object) => event("contentBlockDelta", { contentBlockIndex, delta: fields }, true);
  const stop = event("contentBlockStop", { contentBlockIndex });
  if (piece.type === "text") return [delta({ text: piece.text }), stop];
  if (piece.type === "reasoning") return [delta({ reasoningContent: { text: piece.text } }), stop];
  const start = { toolUse: { toolUseId: piece.id, name: piece.name } };
  return [event("contentBlockStart", { contentBlockIndex, start }), ...piece.fragments.map((input) => delta({ toolUse: { input } })), stop];
}

/** Total length, header length, CRC of both, headers, payload, CRC of everything before. */
function encodeFrame(headers: Readonly<Record<string, string>>, payload: unknown): Buffer {
  const headerBytes = Buffer.concat(Object.entries(headers).map(([name, value]) => encodeHeader(name, value)));
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(12 + headerBytes.length + body.length + 4, 0);
  prelude.writeUInt32BE(headerBytes.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headerBytes, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message), 0);
  return Buffer.concat([message, checksum]);
}

const STRING = 7;

function encodeHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value), 0);
  return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), Buffer.from([STRING]), length, Buffer.from(value)]);
}
