import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import { newId } from "../../common/ids.ts";
import type { TrainerDeps } from "../deps.ts";
import { asTrainerError, TrainerError } from "../errors.ts";
import {
  type AnswerHead,
  byteCount,
  chatFormat,
  completionFormat,
  embeddingEntry,
  moderationResult,
  type TextFormat,
} from "../serving/answers.ts";
import { embeddingsRequest, moderationsRequest, parse, readChat, readCompletion, type TextRequest } from "../serving/requests.ts";
import type { ServedModel } from "../serving/servable.ts";
import { openServedModel } from "../serving/served-model.ts";
import { onlyMethods } from "./methods.ts";
import { checkedSignature } from "./signed-call.ts";
import { tenantOf } from "./tenant.ts";

const BODY_BYTES_MAX = 8 * 1024 * 1024;
const ROOT = "/v1/serve/:id";

type Answer = (model: ServedModel, exchange: { body: unknown; request: Request; response: Response }) => Promise<void>;

/** `/v1/serve/{manifest}/...`: OpenAI-compatible routes of trained models, for the gateway in front of this node. */
export function serveRoutes(deps: TrainerDeps): Router {
  const router = Router();
  const routes: Readonly<Record<string, Answer>> = {
    "chat/completions": answerText(deps, readChat, chatFormat),
    completions: answerText(deps, readCompletion, completionFormat),
    embeddings: answerEmbeddings,
    moderations: answerModerations(deps),
  };
  for (const [path, answer] of Object.entries(routes)) {
    router.post(`${ROOT}/${path}`, handle(answer, deps));
    router.all(`${ROOT}/${path}`, onlyMethods("POST"));
  }
  router.use(ROOT, openAiErrors(deps));
  return router;
}

function handle(answer: Answer, deps: TrainerDeps): RequestHandler {
  return async (request, response) => {
    if (deps.state() === "draining")
      throw new TrainerError("DRAINING", "The node is shutting down. Use another node.", { retryAfterSeconds: 1 });
    if (tenantOf(request) !== "")
      throw new TrainerError("FORBIDDEN", "Served models are called through the gateway, which checks who may use them.");
    const body = await readJson(request);
    await answer(await openServedModel(String(request.params["id"]), deps), { body, request, response });
  };
}

function answerText(deps: TrainerDeps, read: (body: unknown) => TextRequest, format: TextFormat): Answer {
  return async (model, { body, response }) => {
    const asked = read(body);
    const seed = asked.seed ?? deps.random.bytes(4).readUInt32LE();
    const left = new AbortController();
    response.once("close", () => left.abort());
    const head = headOf(deps, format.idPrefix, asked.model);
    const choices = Array.from({ length: asked.choices }, (_, index) => model.text(asked, { seed: seed + index, signal: left.signal }));
    const input = model.inputBytes(asked);
    const exchange = { response, head, format, input };
    await (asked.stream ? sendStream(choices, { ...exchange, includeUsage: asked.includeUsage }) : sendWhole(choices, exchange));
  };
}

type Choices = readonly ReturnType<ServedModel["text"]>[];

interface TextExchange {
  readonly response: Response;
  readonly head: AnswerHead;
  readonly format: TextFormat;
  readonly input: number;
}

async function sendWhole(choices: Choices, { response, head, format, input }: TextExchange): Promise<void> {
  let output = 0;
  const written: { text: string; reason: string }[] = [];
  for (const choice of choices) {
    let text = "";
    for (let step = await choice.next(); ; step = await choice.next()) {
      if (step.done) {
        output += step.value.bytes;
        written.push({ text, reason: step.value.reason });
        break;
      }
      text += step.value;
    }
  }
  response.json(format.whole(head, written, { input, output }));
}

async function sendStream(
  choices: Choices,
  { response, head, format, input, includeUsage }: TextExchange & { includeUsage: boolean },
): Promise<void> {
  const send = async (chunk: object | undefined): Promise<void> => {
    if (chunk === undefined) return;
    if (!response.headersSent) response.status(200).type("text/event-stream").setHeader("Cache-Control", "no-cache");
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`))
      await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
  };
  let output = 0;
  for (const [index, choice] of choices.entries()) {
    // The model's first step runs before the first chunk is sent, so that an invalid call still gets an HTTP error status.
    let step = await choice.next();
    await send(format.opening(head, index));
    for (; !step.done; step = await choice.next()) await send(format.piece(head, index, step.value));
    output += step.value.bytes;
    await send(format.ending(head, index, step.value.reason));
  }
  if (includeUsage) await send(format.usage(head, { input, output }));
  response.end("data: [DONE]\n\n");
}

const answerEmbeddings: Answer = async (model, { body, response }) => {
  const { input, model: name, encoding_format: format } = parse(embeddingsRequest, body);
  const data = (await model.predict(input)).map((prediction, index) => {
    if (!("vector" in prediction)) throw new TrainerError("VALIDATION_ERROR", "This model does not compute embeddings.");
    return embeddingEntry(prediction.vector, index, format ?? "float");
  });
  const bytes = byteCount(...input);
  response.json({ object: "list", data, model: name, usage: { prompt_tokens: bytes, total_tokens: bytes } });
};

function answerModerations(deps: TrainerDeps): Answer {
  return async (model, { body, response }) => {
    const { input, model: name } = parse(moderationsRequest, body);
    const results = (await model.predict(input)).map((prediction) => {
      if (!("scores" in prediction)) throw new TrainerError("VALIDATION_ERROR", "This model is not a classifier, so it cannot moderate.");
      return moderationResult(prediction, model.manifest);
    });
    response.json({ id: newId("modr", deps), model: name, results });
  };
}

function headOf({ clock, random }: TrainerDeps, prefix: string, model: string): AnswerHead {
  return { id: newId(prefix, { clock, random }), created: Math.floor(clock.now() / 1000), model };
}

async function readJson(request: Request): Promise<unknown> {
  const signed = checkedSignature(request);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new TrainerError("PAYLOAD_TOO_LARGE", `The body has more than ${BODY_BYTES_MAX} bytes.`);
    signed?.hash(chunk);
    chunks.push(chunk);
  }
  signed?.requireSameBody();
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new TrainerError("MALFORMED_JSON", "The body is not JSON.");
  }
}

/** Errors in OpenAI's format. Every error of the input is a 400 there. */
function openAiErrors({ logger }: TrainerDeps): ErrorRequestHandler {
  return (thrown, _request, response, _next) => {
    const error = asTrainerError(thrown, "SERVER_ERROR");
    if (error.status >= 500) logger.warn({ code: error.code, message: error.message, internal: error.internal }, "a served model failed");
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    if (error.retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(error.retryAfterSeconds));
    const status = error.status === 422 || error.status === 409 ? 400 : error.status;
    const type = status >= 500 ? "server_error" : "invalid_request_error";
    const param = typeof error.details?.["field"] === "string" ? error.details["field"] : null;
    response.status(status).json({ error: { message: error.message, type, param, code: error.code.toLowerCase() } });
  };
}
