import { type Clock, pause } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import { type ResponseIdentity, responseFields } from "../../calls/dialects/responses/response.ts";
import { gatewayErrorStatus } from "../../calls/gateway-error.ts";
import { routingOf } from "../../calls/inference/route-request.ts";
import { containersIn } from "../../upstream/providers/openai-compatible/response-usage.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { retryAfterMs } from "../batches/line-retry.ts";
import { noteContainers } from "../containers/own-containers.ts";
import { ownerOf } from "../records/own-record.ts";
import type { RecordOf, RecordStore } from "../records/records.ts";
import type { WorkHandler, WorkLease } from "../records/work.ts";
import { writeAgainstChange } from "../records/write-against-change.ts";
import { conversationIdOf } from "./conversations.ts";
import { isLooped, responseCall } from "./response-call.ts";
import { type EndedEvents, type EventLog, openEventLog, PASSING } from "./response-events.ts";
import type { ResponseFeed } from "./response-feed.ts";
import { itemsBefore, itemsWithFiles } from "./response-turn.ts";
import { RETENTION_MS, type ResponseWork, type StoredResponse, type StoredResponsesDeps, turnWrites } from "./stored-responses.ts";
import { streamedAnswer } from "./streamed-answer.ts";
import { responseOf } from "./whole-response.ts";

export interface BackgroundDeps extends StoredResponsesDeps {
  readonly inference: Pick<Inference, "run" | "routing" | "providers" | "mcp">;
  readonly random: Random;
  readonly feed: ResponseFeed;
  /** Of a request, with the files that it names. */
  readonly bodyBytesMax: number;
}

const PAUSE_MS = 500;
/** A response that ends every edge that begins it, or that cannot be stored, is not begun forever. */
const ATTEMPTS_MAX = 3;
const AGE_MS_MAX = 3_600_000;
/** Writes of a result that is paid for, if the store fails for no known reason. */
const WRITES_MAX = 10;

/** Makes the calls of background responses. A response whose edge died is made again by another, and billed once. */
export function backgroundHandler(deps: BackgroundDeps): WorkHandler {
  return async ({ record }, work) => {
    const held = record as RecordOf<StoredResponse>;
    const stop = stopSignal(work);
    const started = await startedResponse(deps, held, work);
    if (!started || stop.aborted) return await endWork(deps, held, { work, response: undefined });
    const log = started.work.asked.stream === true ? await openEventLog(deps, held, work) : undefined;
    log?.begin(held.body.response);
    const response = await answered(deps, { ...started, record: held, lease: work, stop, log });
    const events = await log?.end();
    work.signal.throwIfAborted();
    await endWork(deps, held, { work, response, events });
  };
}

/** Aborts when the claim is lost, the edge stops, or the response was canceled. */
function stopSignal(work: WorkLease): AbortSignal {
  const stop = new AbortController();
  const canceled = new AppError("UPSTREAM_UNAVAILABLE", "The response was canceled.");
  work.onChange((changed) => isCanceled(changed as RecordOf<StoredResponse>) && stop.abort(canceled));
  return AbortSignal.any([stop.signal, work.signal]);
}

interface Started {
  readonly work: ResponseWork;
  /** Why the call is not made again. */
  readonly refusal: AppError | undefined;
}

/** Shows the response as in progress and counts the attempt; undefined if it was canceled before. */
async function startedResponse(deps: BackgroundDeps, record: RecordOf<StoredResponse>, work: WorkLease): Promise<Started | undefined> {
  const { result } = await writeAgainstChange(deps, ownerOf(record), async () => {
    const latest = await deps.records.get<StoredResponse>(record.teamId, "response", record.id);
    if (!latest || isCanceled(latest) || !latest.body.work) return { writes: [], result: undefined };
    const attempts = (latest.body.work.attempts ?? 0) + 1;
    const started: Started = { work: { ...latest.body.work, attempts }, refusal: refusalOf(latest, attempts, deps.clock.now()) };
    if (started.refusal) return { writes: [], result: started };
    const body = { ...latest.body, work: started.work, response: { ...latest.body.response, status: "in_progress" } };
    const put = { type: "put", kind: "response", id: record.id, body, expectedRevision: latest.revision } as const;
    return { writes: [{ ...put, claim: work.claim, keepWork: true }], result: started };
  });
  return result;
}

function refusalOf({ createdAtMs }: RecordOf<StoredResponse>, attempts: number, nowMs: number): AppError | undefined {
  if (attempts > ATTEMPTS_MAX) {
    return new AppError("SERVER_ERROR", `The response was begun ${ATTEMPTS_MAX} times and did not end. Create it again.`);
  }
  if (nowMs - createdAtMs < AGE_MS_MAX) return undefined;
  return new AppError("SERVER_ERROR", "The response did not end within an hour of its creation. Create it again.");
}

interface Answering extends Started {
  readonly record: RecordOf<StoredResponse>;
  readonly lease: WorkLease;
  readonly stop: AbortSignal;
  /** Of a streamed response. */
  readonly log: EventLog | undefined;
}

/** The response in its final state, also if it failed. */
async function answered(deps: BackgroundDeps, answering: Answering): Promise<Fields> {
  const { record, work, refusal, stop } = answering;
  const { response } = record.body;
  const model = work.asked.model;
  const suffix = record.id.replace(/^resp_/, "");
  const identity: ResponseIdentity = { suffix, createdSeconds: Number(response["created_at"]), model, request: work.asked };
  try {
    if (refusal) throw refusal;
    return await calledModel(deps, answering, identity);
  } catch (thrown) {
    const error = asAppError(thrown);
    if (error.code === "SERVER_ERROR" && !stop.aborted) deps.logger.error({ id: record.id, internal: error.internal }, error.message);
    return responseFields(identity, { status: "failed", error, output: [] });
  }
}

async function calledModel(deps: BackgroundDeps, answering: Answering, identity: ResponseIdentity): Promise<Fields> {
  for (let attempt = 1; ; attempt++) {
    // As of the last renewal: the key may have been disabled since the response was created.
    const caller = answering.lease.caller();
    if (!caller) throw new AppError("INVALID_API_KEY", "The API key that created the response no longer exists.");
    try {
      return await calledOnce(deps, { ...answering, caller }, identity);
    } catch (thrown) {
      const delayMs = answering.stop.aborted ? undefined : delayAfter(deps, { ...answering, caller }, asAppError(thrown), attempt);
      if (delayMs === undefined) throw thrown;
      await pause(deps.clock, delayMs, answering.stop);
    }
  }
}

/** How long to wait before the call is made again; undefined if it is not. Rounds of a loop have run tools, so it is not repeated as a whole. */
function delayAfter(
  { inference, clock }: BackgroundDeps,
  { record, work: { asked }, caller }: Answering & { caller: Caller },
  error: AppError,
  attempt: number,
): number | undefined {
  if (!PASSING.has(error.code) || isLooped(inference, { asked, caller })) return undefined;
  const delayMs = retryAfterMs(error, attempt);
  return delayMs !== undefined && clock.now() + delayMs < record.createdAtMs + AGE_MS_MAX ? delayMs : undefined;
}

async function calledOnce(
  deps: BackgroundDeps,
  { record, work: { asked: given, messages }, caller, stop, log }: Answering & { caller: Caller },
  identity: ResponseIdentity,
): Promise<Fields> {
  const { input } = record.body;
  const { stream_options: _options, ...whole } = given;
  const asked = log && !log.isResumed ? { ...given, stream: true } : { ...whole, stream: false };
  const before = await itemsBefore(deps, { asked, caller, added: input });
  const items = await itemsWithFiles(deps, caller, { items: [...messages, ...before, ...input], input });
  const { job, run } = await responseCall({ ...deps, mcp: deps.inference.mcp }, { asked, caller, items });
  const callId = newId("call", deps);
  const call = { callId, onceFor: `${record.id}/0`, endpoint: "/v1/responses", caller, job, routing: routingOf(asked), signal: stop };
  const result = await run({ ...call, errorStatus: gatewayErrorStatus });
  if (result.type === "stream" && log) return await streamedAnswer(deps, { parts: result.parts, identity, log, stop });
  if (result.type !== "answer") throw new Error("a background response is answered whole");
  log?.setCost(result.bill.cost);
  const context = { bill: result.bill, nowMs: deps.clock.now() };
  return responseOf(result.answer, { ...identity, model: result.head.model }, context);
}

interface Ending {
  readonly work: WorkLease;
  readonly response: Fields | undefined;
  /** Of a streamed response. */
  readonly events?: EndedEvents | undefined;
}

/** Ends the work. A response that was canceled meanwhile stays canceled; one that was deleted is not written. */
async function endWork(deps: BackgroundDeps, record: RecordOf<StoredResponse>, { work, response, events }: Ending): Promise<void> {
  await noteContainers(deps, ownerOf(record), containersIn(response?.["output"]));
  let ended = response;
  let isUnstorable = false;
  for (let attempt = 1; !work.signal.aborted; attempt++) {
    try {
      return await writeEnd(deps, record, { work, response: ended, events });
    } catch (thrown) {
      const { code } = asAppError(thrown);
      const isPassing = code === "RECORD_CHANGED" || PASSING.has(code) || (code === "SERVER_ERROR" && attempt < WRITES_MAX);
      if (isPassing) await pause(deps.clock, PAUSE_MS, work.signal);
      else if (ended === undefined || isUnstorable) throw thrown;
      else {
        isUnstorable = true;
        ended = unstorable(ended, thrown, deps);
      }
    }
  }
}

async function writeEnd(
  { records, clock, feed }: { records: RecordStore; clock: Clock; feed: ResponseFeed },
  { id, teamId, organizationId, keyId }: RecordOf<StoredResponse>,
  { work, response, events }: Ending,
): Promise<void> {
  const latest = await records.get<StoredResponse>(teamId, "response", id);
  if (!latest || latest.claim !== work.claim) return;
  const { input, work: asked } = latest.body;
  const canceled = isCanceled(latest) || !response;
  const streamed = asked?.asked.stream === true ? { events: events ?? { last: 0 } } : {};
  const body: StoredResponse = { input, response: canceled ? latest.body.response : response, ...streamed };
  const owner = { teamId, organizationId, keyId };
  const conversationId = asked && conversationIdOf(asked.asked);
  const added = canceled ? [] : await turnWrites({ records, clock }, owner, { ...body, conversationId });
  const put = { type: "put", kind: "response", id, body, expectedRevision: latest.revision, claim: work.claim } as const;
  await records.commit(owner, [{ ...put, expiresAtMs: latest.createdAtMs + RETENTION_MS }, ...added]);
  feed.changed(id, "state");
}

/** A response that the store refuses, such as one that is too large, ends as failed. */
function unstorable(response: Fields, thrown: unknown, { logger }: BackgroundDeps): Fields {
  logger.warn({ id: response["id"], error: String(thrown) }, "a background response could not be stored");
  const error = { code: "server_error", message: "The response could not be stored." };
  return { ...response, status: "failed", completed_at: null, output: [], error };
}

/** Cancels a background response: returns it as it is afterwards. One that has ended stays as it is. */
export async function cancelResponse(deps: StoredResponsesDeps, caller: Caller, record: RecordOf<StoredResponse>): Promise<Fields> {
  const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
    const latest = await deps.records.get<StoredResponse>(caller.teamId, "response", record.id);
    const body = latest?.body ?? record.body;
    if (!latest || !body.work || isCanceled(latest)) return { writes: [], result: body.response };
    const response = { ...body.response, status: "cancelled" };
    // The holder of the claim reads this with its next renewal, and ends the work.
    const put = { type: "put", kind: "response", id: record.id, body: { ...body, response }, keepWork: true } as const;
    return { writes: [{ ...put, expectedRevision: latest.revision }], result: response };
  });
  return result;
}

function isCanceled({ body }: RecordOf<StoredResponse>): boolean {
  return body.response["status"] === "cancelled";
}
