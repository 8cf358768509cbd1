import type { Request, Response } from "express";
import { abortSignalOf } from "../../../../common/cancel.ts";
import { AppError, asAppError } from "../../../../common/errors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { frameOf } from "../../../calls/dialects/responses/frames.ts";
import { responseFields, suffixOf } from "../../../calls/dialects/responses/response.ts";
import { gatewayErrorBody } from "../../../calls/gateway-error.ts";
import type { ResponsesRequest } from "../../../schemas/calls/responses.ts";
import { requireModel } from "../../../stored/assistants/checks.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import { type Follower, followResponse } from "../../../stored/responses/follow-response.ts";
import type { ResponseTurn } from "../../../stored/responses/response-turn.ts";
import { RETENTION_MS, type StoredResponse } from "../../../stored/responses/stored-responses.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { StreamedAnswer } from "./answer-once.ts";
import { clientLeft } from "./client-left.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import { SseWriter } from "./sse-writer.ts";

/** How many responses an edge has under way for one team: they are stored with all their input, and paid for only when they are made. */
const TEAM_MAX = 100;
const RETRY_SECONDS = 5;

export interface QueuedResponse {
  readonly request: Request;
  readonly response: Response;
  readonly callId: string;
  readonly caller: Caller;
  readonly asked: ResponsesRequest;
  /** The messages of the prompt. */
  readonly messages: readonly Fields[];
  readonly rawBody: Buffer;
  readonly turn: ResponseTurn;
}

/** What log rows and stored answers name the API by. */
export const RESPONSES_ENDPOINT = "/v1/responses";

/** Stores a response as queued, starts its call on this edge, and answers with it or, if it is streamed, with its events. */
export async function queueResponse(deps: ResponsesDeps, queued: QueuedResponse): Promise<void> {
  const { request, response, caller, asked, rawBody } = queued;
  requireModel(caller, asked.model, deps.inference.routing);
  const isStreamed = asked.stream === true;
  const streamed = (shown: unknown) =>
    sendEvents(deps, { response, caller, id: (shown as { id: string }).id, after: -1, include: asked.include ?? [] });
  await deps.once({
    ...{ request, response, endpoint: RESPONSES_ENDPOINT, body: () => rawBody },
    work: async () => {
      const shown = await stored(deps, queued);
      return isStreamed ? new StreamedAnswer(shown, () => streamed(shown)) : shown;
    },
    streamAgain: isStreamed ? streamed : undefined,
  });
}

type Following = Omit<Follower, "signal"> & { readonly response: Response };

/** Streams the events of a background response. A client that disconnects can resume; the work goes on. */
export async function sendEvents(deps: ResponsesDeps, { response, ...follower }: Following): Promise<void> {
  const writer = new SseWriter(response, deps.clock, { stallMs: deps.stallMs });
  const signal = abortSignalOf(clientLeft(response, deps.openCalls));
  writer.open();
  try {
    for await (const frame of followResponse(deps, { ...follower, signal })) if (!(await writer.write(frame))) return;
    writer.end(signal.aborted ? errorFrameOf(INTERRUPTED) : "");
  } catch (thrown) {
    response.locals["error"] = asAppError(thrown);
    writer.end(errorFrameOf(asAppError(thrown)));
  }
}

const INTERRUPTED = new AppError("UNAVAILABLE", "The stream was interrupted; the response continues. Resume with starting_after.");

function errorFrameOf(error: AppError): string {
  const { code, message, param } = gatewayErrorBody(error).error;
  return frameOf({ type: "error", code, message, param });
}

function requireRoom({ worker }: ResponsesDeps, { teamId }: Caller): void {
  if (worker.countOf("response", teamId) < TEAM_MAX) return;
  const message = `The team has ${TEAM_MAX} background responses that have not ended. Wait until some have, or cancel some.`;
  throw new AppError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds: RETRY_SECONDS });
}

async function stored(deps: ResponsesDeps, { callId, caller, asked, messages, turn }: QueuedResponse): Promise<Fields> {
  requireRoom(deps, caller);
  const nowMs = deps.clock.now();
  const identity = { suffix: suffixOf(callId), createdSeconds: Math.floor(nowMs / 1000), model: asked.model, request: asked };
  const shown = responseFields(identity, { status: "queued" });
  const { input: _input, ...rest } = asked;
  const body: StoredResponse = { response: shown, input: turn.input, work: { asked: rest, messages, attempts: 0 } };
  const record = { kind: "response", id: String(shown["id"]), body, createdAtMs: nowMs, expiresAtMs: nowMs + RETENTION_MS } as const;
  const [created] = await deps.records.commit(ownerOf(caller), [{ type: "create", ...record, ...deps.worker.newLease() }]);
  if (!created) throw new AppError("SERVER_ERROR", "A background response was not stored.");
  deps.worker.startNow({ record: created, caller });
  return shown;
}
