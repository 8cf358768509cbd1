import {
  type Asked,
  argumentsOf,
  type Dialect,
  type FailureTable,
  type Frame,
  frame,
  type Json,
  promptTokens,
  reasoningOf,
  sse,
  textOf,
  vectorOf,
} from "../dialect.ts";
import type { Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "context_length_exceeded", "This model's maximum context length is 4096 tokens."],
  policy: [400, "content_policy_violation", "Your request was rejected as a result of our safety system."],
  auth: [401, "invalid_api_key", "Incorrect API key provided: sk-upst**********alse."],
  "rate-limit": [429, "rate_limit_exceeded", "Rate limit reached for requests"],
  server: [500, "server_error", "The server had an error while processing your request."],
  overloaded: [503, "server_error", "The engine is currently overloaded."],
  "bad-request": [400, "invalid_value", "Invalid value for 'temperature'."],
};
const PATHS = /\/(chat\/completions|completions|embeddings|moderations|models)$/;
const OPERATIONS: Readonly<Record<string, Asked["operation"]>> = { "chat/completions": "chat" };

export const openai: Dialect = {
  streamType: "text/event-stream",
  read(path, body) {
    const found = PATHS.exec(path)?.[1];
    if (found === undefined) return undefined;
    // Azure has the deployment in the path.
    const deployment = /\/deployments\/([^/]+)\//.exec(path)?.[1];
    const model = deployment === undefined ? String(body?.model ?? "") : decodeURIComponent(deployment);
    return { operation: OPERATIONS[found] ?? (found as Asked["operation"]), model, stream: body?.stream === true, body };
  },
  whole: (reply, asked) => (asked.operation === "completions" ? wholeText(reply, asked) : wholeChat(reply, asked)),
  frames: (reply, asked) => (asked.operation === "completions" ? textFrames(reply, asked) : chatFrames(reply, asked)),
  refusal(failure) {
    const [status] = FAILURES[failure];
    return { status, body: errorBody(failure) };
  },
  failureFrame: (failure) => sse(errorBody(failure)).bytes,
  forcedTool: (body) => body?.tool_choice?.function?.name,
  other: (asked) => others(asked),
};

function errorBody(failure: keyof FailureTable): unknown {
  const [status, code, message] = FAILURES[failure];
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type, param: null, code } };
}

function others({ operation, model, body }: Asked): unknown {
  if (operation === "models") return { object: "list", data: [{ id: "pong", object: "model", created: 1, owned_by: "fake" }] };
  if (operation === "moderations") return moderation(body);
  const inputs: unknown[] = Array.isArray(body.input) && typeof body.input[0] !== "number" ? body.input : [body.input];
  const vectors = inputs.map((_, index) => vectorOf(index, body.dimensions ?? 8));
  return {
    object: "list",
    model,
    data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: 4 * inputs.length, total_tokens: 4 * inputs.length },
  };
}

const CATEGORIES =
  "harassment harassment/threatening hate hate/threatening illicit illicit/violent self-harm self-harm/intent self-harm/instructions sexual sexual/minors violence violence/graphic".split(
    " ",
  );

function moderation({ input }: Json): unknown {
  const isMany = Array.isArray(input) && typeof input[0] === "string";
  const all = <Value>(value: Value) => Object.fromEntries(CATEGORIES.map((name) => [name, value]));
  const result = { flagged: false, categories: all(false), category_scores: all(0.01), category_applied_input_types: all(["text"]) };
  return { id: "modr-1", model: "omni-moderation-latest", results: Array.from({ length: isMany ? input.length : 1 }, () => result) };
}

function usageOf({ usage }: Reply): unknown {
  const prompt = promptTokens(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}

function callsOf(reply: Reply): unknown[] {
  return toolsIn(reply).map(({ id, name, fragments }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(argumentsOf(fragments)) },
  }));
}

function toolsIn({ pieces }: Reply): Extract<Piece, { type: "tool" }>[] {
  return pieces.filter((piece) => piece.type === "tool");
}

/** Choices of one request differ, so that a mix-up is visible. */
const choiceText = (text: string, index: number) => (index === 0 ? text : `${text}#${index}`);
const finishOf = ({ finish }: Reply) => (finish === "malformed" ? "error" : finish);

function wholeChat(reply: Reply, { model, body }: Asked): unknown {
  const calls = callsOf(reply);
  const reasoning = reasoningOf(reply);
  const choice = (index: number) => ({
    index,
    message: {
      role: "assistant",
      content: textOf(reply) === "" ? null : choiceText(textOf(reply), index),
      refusal: null,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    },
    logprobs: null,
    finish_reason: finishOf(reply),
  });
  const choices = Array.from({ length: body.n ?? 1 }, (_, index) => choice(index));
  return { id: "chatcmpl-up", object: "chat.completion", created: 1, model, choices, usage: usageOf(reply) };
}

function chatFrames(reply: Reply, { model, body }: Asked): Frame[] {
  const chunk = (choices: unknown[], more: object = {}) => ({
    id: "chatcmpl-up",
    object: "chat.completion.chunk",
    created: 1,
    model,
    choices,
    ...more,
  });
  const indexes = Array.from({ length: body.n ?? 1 }, (_, index) => index);
  const delta = (index: number, fields: object) => chunk([{ index, delta: fields, logprobs: null, finish_reason: null }]);
  let tool = -1;
  const pieces = reply.pieces.flatMap((piece) => {
    if (piece.type === "tool") tool++;
    const deltas = deltasOf(piece, tool);
    return deltas.flatMap((fields) => indexes.map((index) => sse(delta(index, ownText(fields, index)), true)));
  });
  return [
    ...indexes.map((index) => sse(delta(index, { role: "assistant", content: "" }))),
    ...pieces,
    ...indexes.map((index) => sse(chunk([{ index, delta: {}, logprobs: null, finish_reason: finishOf(reply) }]))),
    ...(body.stream_options?.include_usage ? [sse(chunk([], { usage: usageOf(reply) }))] : []),
    frame("data: [DONE]\n\n"),
  ];
}

function ownText(fields: { content?: string }, index: number): object {
  return fields.content === undefined ? fields : { ...fields, content: choiceText(fields.content, index) };
}

function deltasOf(piece: Piece, tool: number): { content?: string }[] {
  if (piece.type === "text") return [{ content: piece.text }];
  if (piece.type === "reasoning") return [{ reasoning_content: piece.text } as object];
  const { id, name, fragments } = piece;
  const call = (fields: object) => ({ tool_calls: [{ index: tool, ...fields }] }) as object;
  return [
    call({ id, type: "function", function: { name, arguments: "" } }),
    ...fragments.map((text) => call({ function: { arguments: text } })),
  ];
}

const prompts = ({ prompt }: Json): number => (Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1);

function textLogprobs(text: string, { logprobs }: Json): unknown {
  if (logprobs === undefined) return null;
  const tokens = text.split(/(?<= )/);
  return {
    tokens,
    token_logprobs: tokens.map(() => -0.5),
    top_logprobs: tokens.map((token) => ({ [token]: -0.5 })),
    text_offset: tokens.map((_, index) => tokens.slice(0, index).join("").length),
  };
}

function wholeText(reply: Reply, { model, body }: Asked): unknown {
  const echoed = body.echo === true ? String(body.prompt) : "";
  const choices = Array.from({ length: prompts(body) * (body.n ?? 1) }, (_, index) => {
    const text = echoed + choiceText(textOf(reply), index);
    return { index, text, logprobs: textLogprobs(text, body), finish_reason: finishOf(reply) };
  });
  return { id: "cmpl-up", object: "text_completion", created: 1, model, choices, usage: usageOf(reply) };
}

function textFrames(reply: Reply, { model, body }: Asked): Frame[] {
  const chunk = (choices: unknown[], more: object = {}) => ({
    id: "cmpl-up",
    object: "text_completion",
    created: 1,
    model,
    choices,
    ...more,
  });
  const choice = (text: string, finish_reason: string | null) => ({ index: 0, text, logprobs: null, finish_reason });
  return [
    ...reply.pieces.map((piece) => sse(chunk([choice(piece.type === "text" ? piece.text : "", null)]), true)),
    sse(chunk([choice("", finishOf(reply))])),
    ...(body.stream_options?.include_usage ? [sse(chunk([], { usage: usageOf(reply) }))] : []),
    frame("data: [DONE]\n\n"),
  ];
}
