import type { Request, Response } from "express";
import { toJson } from "../../../../common/json.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { idempotencyKey } from "../../middleware/idempotency.ts";
import { JSON_TYPE } from "./answer-call.ts";
import { beginIdempotentCall, type IdempotentDeps } from "./idempotent-call.ts";
import { replay, send } from "./replay-answer.ts";

/** An answer that is sent as a stream. `stored` is what a repeated request is answered from. */
export class StreamedAnswer {
  readonly stored: unknown;
  readonly stream: () => Promise<void>;

  constructor(stored: unknown, stream: () => Promise<void>) {
    this.stored = stored;
    this.stream = stream;
  }
}

/** A validated request that writes. */
export interface WritingRequest {
  readonly request: Request;
  readonly response: Response;
  /** The operation, with the ids of the path. */
  readonly endpoint: string;
  /** The body, or a hash of it. */
  body(): Buffer | Promise<Buffer>;
  /** Does the work. Resolves to the answer, or to undefined if it has sent the response itself. */
  work(): Promise<unknown>;
  /** Streams an answer again. Undefined if the request asks for no stream. */
  readonly streamAgain?: ((stored: unknown) => Promise<void>) | undefined;
}

/**
 * Does the work of a request and sends its answer; at most once under an Idempotency-Key, as calls are. The answer is stored when the work is
 * written, before the first byte is sent: work that goes on in the background, such as a run, is never begun twice.
 */
export type AnswerOnce = (writing: WritingRequest) => Promise<void>;

export function createAnswerOnce(deps: IdempotentDeps & { readonly stallMs: number }): AnswerOnce {
  return async (writing) => {
    const { request, response, endpoint } = writing;
    const key = idempotencyKey(request);
    if (key === undefined) return await sendAnswer(response, await writing.work());
    const [caller, callId] = [callerOf(response), String(response.locals["callId"])];
    const input = { key, owner: ownerOf(caller), callId, endpoint, body: await writing.body(), pathModel: undefined };
    const idempotent = await beginIdempotentCall(deps, input);
    const { answer } = idempotent;
    if (answer) {
      if (!writing.streamAgain) return await replay(deps, { response, answer, teamId: caller.teamId });
      response.setHeader("idempotent-replayed", "true");
      return await writing.streamAgain(JSON.parse(Buffer.from(answer.body).toString()));
    }
    try {
      const result = await writing.work();
      if (result === undefined) return;
      const body = toJson(result instanceof StreamedAnswer ? result.stored : result);
      const headers = ["x-gw-call-id", callId];
      idempotent.record(body);
      await idempotent.store(headers, JSON_TYPE);
      if (result instanceof StreamedAnswer) return await result.stream();
      send(response, { headers, contentType: JSON_TYPE, body });
    } finally {
      await idempotent.close();
    }
  };
}

/** Sends an answer as JSON, or as the stream that it is. */
export async function sendAnswer(response: Response, result: unknown): Promise<void> {
  if (result instanceof StreamedAnswer) return await result.stream();
  if (result !== undefined) response.type("application/json").end(toJson(result));
}
