import { type Clock, pause } from "../common/clock.ts";
import type { Logger } from "../common/logger.ts";
import { operatorFetch } from "../common/operator-fetch.ts";
import { CAPABILITIES_HEADER } from "../common/training/capabilities.ts";
import { PROPERTIES_HEADER, type Properties } from "../common/training/selection-settings.ts";
import type { JoinedTask } from "./coordinator/participants/joined-work.ts";
import { writeJson } from "./operations/answer.ts";
import { asciiJson, configHeader, resultHeader } from "./operations/octet-headers.ts";
import { type JoinGrant, leavePlace, ownToken } from "./own-join-token.ts";

/** Options of a node that asks a gateway for work. It calls no other address. */
export interface JoinOptions extends JoinGrant {
  /** This node's own HTTP address, and its token if it has one. */
  readonly own: { readonly url: string; readonly token: string | undefined };
  /** What this node says about itself. */
  readonly properties?: Properties | undefined;
  /** Whether the message of a function's exception leaves this node, or only its type. */
  readonly exceptions?: "owner" | "all" | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = { first: 500, max: 10_000 };

/**
 * Lets a node that cannot be called take part in a federation: it asks for work, runs it through its own HTTP API and sends the result
 * back.
 */
export function startJoining(options: JoinOptions): { stop(): Promise<void> } {
  const { clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let placed: JoinOptions | undefined;
  const loop = (async () => {
    let delayMs = RETRY_MS.first;
    while (!signal.aborted) {
      try {
        placed ??= { ...options, joinToken: await ownToken(options, signal) };
        const task = await nextTask(placed, signal);
        if (task) await doTask(placed, task, signal);
        delayMs = RETRY_MS.first;
      } catch (thrown) {
        if (signal.aborted) return;
        logger.warn({ error: String(thrown), retryMs: delayMs }, "working for the gateway failed");
        await pause(clock, delayMs, signal);
        delayMs = Math.min(RETRY_MS.max, delayMs * 2);
      }
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await loop;
      if (placed) await leavePlace(options, placed.joinToken);
    },
  };
}

async function nextTask({ url, joinToken, ...options }: JoinOptions, signal: AbortSignal): Promise<JoinedTask | undefined> {
  const { capabilities, properties = {} } = options;
  const headers = {
    ...bearer(joinToken),
    [CAPABILITIES_HEADER]: capabilities.join(","),
    [PROPERTIES_HEADER]: asciiJson(properties),
  };
  const answer = await operatorFetch(`${url}/training/join/tasks`, { headers, signal });
  if (answer.status === 204) return undefined;
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  return ((await answer.json()) as { task: JoinedTask }).task;
}

async function doTask(options: JoinOptions, task: JoinedTask, signal: AbortSignal): Promise<void> {
  const { logger } = options;
  const result = await work(options, task, signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    return failure(String(thrown));
  });
  const { status, text } = await sendResult(options, task, result, signal);
  if (status < 300) return;
  if (status === 409) {
    logger.info({ task: task.id, round: task.round_id, status }, "the gateway did not accept the result: its round is closed");
    return;
  }
  const refused = `the gateway answered ${status} to the result: ${text.slice(0, 300)}`;
  // Sent again, the same result would be refused again, and the round would wait for it until its deadline.
  if (!isPassing(status)) await sendResult(options, task, failure(refused), signal);
  throw new Error(refused);
}

/** Whether the gateway may accept the same result later. Then the task comes again, and a training is answered with its stored result. */
const isPassing = (status: number): boolean => status >= 500 || [401, 408, 429].includes(status);

const NOTHING = new Uint8Array(0);
const failure = (error: string): TaskResult => ({ body: NOTHING, fields: { error: error.slice(0, 500) } });

async function sendResult({ url, joinToken }: JoinOptions, task: JoinedTask, { body, fields }: TaskResult, signal: AbortSignal) {
  const answer = await operatorFetch(`${url}/training/join/tasks/${task.id}`, {
    method: "POST",
    headers: { ...bearer(joinToken), "content-type": "application/octet-stream", "x-result": resultHeader(fields) },
    body,
    signal,
  });
  return { status: answer.status, text: await answer.text() };
}

/** What the coordinator reads of an answer. */
interface TaskResult {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly fields: Readonly<Partial<Record<"accuracy" | "num_samples" | "metrics" | "error", unknown>>>;
}

/** Runs the task through the node's own HTTP API, so that limits, queue and registered functions are the same as for other callers. */
async function work(options: JoinOptions, task: JoinedTask, signal: AbortSignal): Promise<TaskResult> {
  const { own } = options;
  const isTrain = task.operation === "train";
  const config = { dataset: task.dataset, config: task.config, format: "safetensors", round_id: task.round_id, client_id: task.client_id };
  const { headers, body } = requestOf(config, await parametersOf(options, task, signal));
  const answer = await operatorFetch(`${own.url}/v1/${task.operation}`, {
    method: "POST",
    headers: {
      ...(own.token === undefined ? {} : bearer(own.token)),
      ...headers,
      // A task that comes again, because its result was lost, is answered with the stored result.
      ...(isTrain ? { "idempotency-key": task.id } : {}),
      accept: isTrain ? "application/octet-stream" : "application/json",
    },
    body,
    signal,
  });
  if (!answer.ok) throw new Error(await reasonOf(options, answer));
  if (isTrain) {
    const { num_samples, metrics } = JSON.parse(answer.headers.get("x-result") ?? "{}") as TaskResult["fields"];
    return { body: new Uint8Array(await answer.arrayBuffer()), fields: { num_samples, metrics } };
  }
  const { accuracy, num_samples, metrics } = (await answer.json()) as TaskResult["fields"];
  return { body: NOTHING, fields: { accuracy, num_samples, metrics } };
}

/** Parameters as octets, with the other fields in a header. If they do not fit, such as an inline dataset, the body is JSON. */
function requestOf(fields: Record<string, unknown>, parameters: Uint8Array<ArrayBuffer>): CallRequest {
  const header = configHeader(fields);
  if (header === undefined)
    return { headers: { "content-type": "application/json" }, body: writeJson({ fields, parameters: [parameters] }) };
  return { headers: { "content-type": "application/octet-stream", "x-train-config": header }, body: parameters };
}

type CallRequest = { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array<ArrayBuffer> };

/**
 * Why the node refused a call. Its answer is for its owner, so the message of a function's exception is left out of what is sent. A request
 * that the HTTP server itself refuses has an answer without JSON.
 */
async function reasonOf({ exceptions }: JoinOptions, answer: Response): Promise<string> {
  const { error, details } = failedCall(await answer.text());
  const reason = details?.exception === undefined || exceptions === "all" ? error : `The function failed: ${details.exception}`;
  return reason ?? `the node answered ${answer.status}`;
}

function failedCall(text: string): { readonly error?: string; readonly details?: { readonly exception?: string } } {
  try {
    return Object(JSON.parse(text)) as ReturnType<typeof failedCall>;
  } catch {
    return {};
  }
}

async function parametersOf({ url, joinToken }: JoinOptions, { parameters }: JoinedTask, signal: AbortSignal) {
  if (parameters === null) return new Uint8Array(0);
  const answer = await operatorFetch(`${url}/training/join/blobs/${parameters}`, { headers: bearer(joinToken), signal });
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status} for the parameters`);
  return new Uint8Array(await answer.arrayBuffer());
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
