import type { Request, RequestHandler, Response } from "express";
import { AppError } from "../../../../common/errors.ts";
import { ignore } from "../../../../common/ignore.ts";
import type { ResponseFormat } from "../../../calls/formats/response-format.ts";
import type { FormSource } from "../../../calls/inference/jobs/form-source.ts";
import { speechJob } from "../../../calls/inference/jobs/speech.ts";
import { type Transcript, transcriptionsJob } from "../../../calls/inference/jobs/transcriptions.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { AudioLength } from "../../../calls/tokens/audio/audio-length.ts";
import { parseSpeechRequest } from "../../../schemas/calls/speech.ts";
import { parseAudioForm } from "../../../schemas/calls/transcriptions.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { idempotencyKey } from "../../middleware/idempotency.ts";
import { type IncomingForm, readForm } from "../../uploads/read-form.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";
import { formDigest, refuseEmptyFiles } from "./form-call.ts";
import { pathModelOf } from "./read-call.ts";

const SOUND_TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/** POST audio/speech. */
export function speechHandler(deps: CallDeps): RequestHandler {
  return callHandler(deps, "/v1/audio/speech", ({ body, pathModel }) => {
    const asked = parseSpeechRequest(body, pathModel);
    // A provider's audio type is used; many providers send only application/octet-stream.
    const bytesType = (upstreamType: string | undefined) =>
      upstreamType?.startsWith("audio/") ? upstreamType : SOUND_TYPES[asked.response_format ?? "mp3"];
    return { job: speechJob(asked), routing: routingOf(asked), format: { whole: () => "", bytesType } };
  });
}

type AudioFormOperation = "transcriptions" | "translations";

const FILE_BYTES_MAX = 25 * 1024 * 1024;

/** POST audio/transcriptions and audio/translations. */
export function audioFormHandler(deps: CallDeps, operation: AudioFormOperation): RequestHandler {
  return async (request, response) => {
    const length = new AudioLength();
    const watch = (bytes: Buffer) => length.add(bytes);
    const form = readForm(request, { fileFields: ["file"], filesMax: 1, fileBytesMax: FILE_BYTES_MAX, watch });
    try {
      await answerForm(deps, { request, response, form, operation, length });
    } finally {
      await form.close();
    }
  };
}

interface FormExchange {
  readonly request: Request;
  readonly response: Response;
  readonly form: IncomingForm;
  readonly operation: AudioFormOperation;
  readonly length: AudioLength;
}

async function answerForm(deps: CallDeps, { request, response, form, operation, length }: FormExchange): Promise<void> {
  const pathModel = pathModelOf(request);
  await form.begun;
  const mayStart = mayStartEarly(request) && (pathModel !== undefined || form.fields.some(([name]) => name === "model"));
  if (!mayStart) await form.complete;
  const parse = () => parseAudioForm(operation, form.fields, pathModel);
  const { model } = parse();
  const [file] = form.files;
  if (!file) throw new AppError("INVALID_REQUEST", "file: a file is required", { param: "file" });
  const source = judgedForm(form, () => {
    refuseEmptyFiles(form);
    parse();
  });
  if (form.isComplete) await source.complete;
  await answerCall(deps, {
    request,
    response,
    callId: String(response.locals["callId"]),
    endpoint: `/v1/audio/${operation}`,
    caller: callerOf(response),
    job: transcriptionsJob({ operation, model, form: source, fileBytesMax: file.size ?? declaredLength(request), length, request: parse }),
    routing: routingOf({}),
    format: TRANSCRIPT_FORMAT,
    rawBody: form.isComplete ? await formDigest(form) : Buffer.alloc(0),
    pathModel,
    errors: GATEWAY_ERRORS,
  });
}

/** A form whose late parts are checked when they arrive: an error ends the call before the provider has the whole form. */
function judgedForm(form: IncomingForm, judge: () => void): FormSource {
  let isComplete = false;
  const complete = form.complete.then(() => {
    judge();
    isComplete = true;
  });
  void ignore(complete, "the call awaits it");
  return {
    get fields() {
      return form.fields;
    },
    get files() {
      return form.files;
    },
    get isComplete() {
      return isComplete;
    },
    complete,
  };
}

/**
 * Whether the form may be sent to a provider while it is still being received: only if its declared size is within the limit, and without
 * an Idempotency-Key, which needs a hash of the whole form.
 */
function mayStartEarly(request: Request): boolean {
  const length = declaredLength(request);
  return length > 0 && length <= FILE_BYTES_MAX && idempotencyKey(request) === undefined;
}

function declaredLength(request: Request): number {
  return Number(request.headers["content-length"] ?? 0);
}

const TRANSCRIPT_FORMAT: ResponseFormat<Transcript> = {
  whole: ({ body }) => body,
  wholeType: ({ isJson }) => (isJson ? "application/json; charset=utf-8" : "text/plain; charset=utf-8"),
};
