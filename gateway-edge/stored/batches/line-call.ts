import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import { chatExchange } from "../../calls/formats/chat.ts";
import { completionsExchange } from "../../calls/formats/completions.ts";
import { embeddingsExchange } from "../../calls/formats/embeddings.ts";
import type { ResponseFormat } from "../../calls/formats/response-format.ts";
import { gatewayErrorBody, gatewayErrorStatus } from "../../calls/gateway-error.ts";
import type { Job } from "../../calls/inference/job.ts";
import type { CallRouting } from "../../calls/inference/route-request.ts";
import { parseChatRequest } from "../../schemas/calls/chat.ts";
import { parseCompletionsRequest } from "../../schemas/calls/completions.ts";
import { parseEmbeddingsRequest } from "../../schemas/calls/embeddings.ts";
import type { BatchEndpoint } from "../../schemas/stored/batches.ts";
import { chatWithFiles, type InlineDeps } from "../files/inline-files.ts";
import { hasPrompt, type PromptDeps, promptedChat } from "../prompts/apply-prompt.ts";
import type { LineResult } from "./batch-body.ts";
import type { BatchLine } from "./check-line.ts";
import { retryAfterMs } from "./line-retry.ts";

/** What the call of a line needs. */
export interface LineDeps extends PromptDeps {
  readonly records: InlineDeps["records"];
  /** Of a line, with the files that it names. */
  readonly lineBytesMax: number;
  readonly inference: Pick<Inference, "run">;
  readonly clock: Clock;
  readonly random: Random;
}

/** The call of one line. */
export interface LineCall {
  readonly endpoint: BatchEndpoint;
  readonly request: BatchLine;
  /** Identifies the line: repeated calls with the same value are billed once. */
  readonly onceFor: string;
  /** The caller as of the last renewal of the lease. */
  readonly caller: () => Caller | undefined;
  readonly signal: AbortSignal;
}

/** Makes one request of a batch like any call of its key, with retries. Throws only if `signal` aborts. */
export async function callLine(deps: LineDeps, line: LineCall): Promise<LineResult> {
  for (let attempt = 1; ; attempt++) {
    const callId = newId("call", deps);
    try {
      const body = await callOnce(deps, line, callId);
      return { isAnswer: true, text: outputLine(line.request, { callId, status: 200, body }) };
    } catch (thrown) {
      line.signal.throwIfAborted();
      const error = asAppError(thrown);
      const delayMs = retryAfterMs(error, attempt);
      if (delayMs === undefined) {
        const answer = { callId, status: gatewayErrorStatus(error), body: JSON.stringify(gatewayErrorBody(error)) };
        return { isAnswer: false, text: outputLine(line.request, answer) };
      }
      // Jitter: lines that were refused together are not retried together.
      await deps.clock.sleep(delayMs * (1 + deps.random.bytes(1).readUInt8() / 1024), line.signal);
    }
  }
}

/** The result of a request that is not made. */
export function skippedLine({ customId }: BatchLine, error: { code: string; message: string }, deps: LineDeps): LineResult {
  return { isAnswer: false, text: JSON.stringify({ id: newId("batch_req", deps), custom_id: customId, response: null, error }) };
}

async function callOnce(deps: LineDeps, line: LineCall, callId: string): Promise<string> {
  const caller = line.caller();
  if (!caller) throw new AppError("INVALID_API_KEY", "The API key that created the batch no longer exists.");
  const make = await CALLS[line.endpoint](line.request.body, deps, caller);
  return await make(deps, { ...line, callId, caller });
}

type PreparedCall = Omit<LineCall, "caller" | "request"> & { readonly callId: string; readonly caller: Caller };
type MakeCall = (deps: LineDeps, call: PreparedCall) => Promise<string>;

/** How each endpoint parses a body and serializes its answer, as on its own path. */
const CALLS: Readonly<Record<BatchEndpoint, (body: unknown, deps: LineDeps, caller: Caller) => MakeCall | Promise<MakeCall>>> = {
  "/v1/chat/completions": async (body, deps, caller) => {
    const asked = hasPrompt(body) ? await promptedChat(deps, caller, body) : body;
    const { records, lineBytesMax: bodyBytesMax } = deps;
    return callOf(chatExchange(await chatWithFiles({ records, bodyBytesMax }, caller, parseChatRequest(asked, undefined))));
  },
  "/v1/completions": (body) => callOf(completionsExchange(parseCompletionsRequest(body, undefined))),
  "/v1/embeddings": (body) => callOf(embeddingsExchange(parseEmbeddingsRequest(body, undefined))),
};

function callOf<Answer>({ job, routing, format }: { job: Job<Answer>; routing: CallRouting; format: ResponseFormat<Answer> }): MakeCall {
  return async ({ inference, clock }, { callId, onceFor, endpoint, caller, signal }) => {
    const result = await inference.run({ callId, onceFor, endpoint, caller, job, routing, signal, errorStatus: gatewayErrorStatus });
    if (result.type !== "answer") throw new Error("a line of a batch is answered whole");
    return format.whole(result.answer, { callId, nowMs: clock.now(), model: result.head.model, bill: result.bill });
  };
}

/** Inserts the body as JSON text: to parse and serialize it again would turn large integers into floats. */
function outputLine({ customId }: BatchLine, { callId, status, body }: { callId: string; status: number; body: string }): string {
  const [id, custom, request] = [callId.replace(/^call_/, "batch_req_"), customId, callId].map((text) => JSON.stringify(text));
  return `{"id":${id},"custom_id":${custom},"response":{"status_code":${status},"request_id":${request},"body":${body}},"error":null}`;
}
