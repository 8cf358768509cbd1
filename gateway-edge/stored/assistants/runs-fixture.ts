import { once } from "node:events";
import { abortSignalOf, type CancelSignal } from "../../../common/cancel.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../../server/http/testing/edge-fixture.ts";
import { echoUpstream } from "../../upstream/providers/echo/upstream.ts";
import type { Send, UpstreamResponse } from "../../upstream/providers/provider.ts";

/** A model's answer to one call. */
export interface Scripted {
  readonly text?: readonly string[];
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish?: string;
  /** Prompt and completion tokens. */
  readonly usage?: readonly [number, number];
  /** Sends its text, then nothing more until the call is aborted. */
  readonly hangs?: true;
  /** Refuses with this status. */
  readonly status?: number;
}

export interface ScriptedUpstream {
  readonly send: Send;
  /** The request bodies, in order. */
  readonly requests: { messages: { role: string; content: unknown }[]; [field: string]: unknown }[];
  readonly aborted: number[];
}

/** An OpenAI upstream with one scripted answer per call; the last one repeats. */
function scriptedUpstream(...answers: readonly Scripted[]): ScriptedUpstream {
  const requests: ScriptedUpstream["requests"] = [];
  const aborted: number[] = [];
  const send: Send = async (request, signal) => {
    const number = requests.push(JSON.parse(String(request.body)) as ScriptedUpstream["requests"][number]) - 1;
    const answer = answers[Math.min(number, answers.length - 1)] ?? {};
    signal.addEventListener("abort", () => aborted.push(number));
    if (answer.status !== undefined) return respond(answer.status, [JSON.stringify({ error: { message: "no", type: "x" } })]);
    return respond(200, frames(answer), answer.hangs ? signal : undefined);
  };
  return { send, requests, aborted };
}

function frames({ text = [], calls = [], finish, usage = [10, 5], hangs }: Scripted): string[] {
  const chunk = (delta: object, reason: string | null = null) => ({ choices: [{ index: 0, delta, finish_reason: reason }] });
  const said = [
    chunk({ role: "assistant", content: "" }),
    ...text.map((piece) => chunk({ content: piece })),
    ...calls.flatMap(({ id, name, arguments: json }, index) => [
      chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: json.slice(0, 3) } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: json.slice(3) } }] }),
    ]),
  ];
  const [prompt, completion] = usage;
  const end = [
    chunk({}, finish ?? (calls.length > 0 ? "tool_calls" : "stop")),
    { choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } },
  ];
  const all = hangs ? said : [...said, ...end];
  return [
    ...all.map((data) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", ...data })}\n\n`),
    ...(hangs ? [] : ["data: [DONE]\n\n"]),
  ];
}

function respond(status: number, chunks: readonly string[], until?: CancelSignal): UpstreamResponse {
  return {
    status,
    headers: { "content-type": status === 200 ? "text/event-stream" : "application/json" },
    body: (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk);
      if (!until) return;
      if (!until.aborted) await once(abortSignalOf(until), "abort");
      throw until.reason;
    })(),
  };
}

export interface AssistantsEdge extends TestEdge {
  readonly upstream: ScriptedUpstream;
  readonly secret: string;
  /** A call of the first team's key; the answer's status and JSON. */
  call(method: string, path: string, body?: unknown, secret?: string): Promise<{ status: number; body: Json }>;
  /** The events of a stream, in order; the last one is `done`. */
  stream(path: string, body: object): Promise<{ event: string; data: Json }[]>;
  /** The run once it has ended or waits for tool outputs. */
  settled(threadId: string, runId: string): Promise<Json>;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of a dozen operations, looked at field by field.
export type Json = any;

const RESTING = ["requires_action", "completed", "incomplete", "failed", "cancelled", "expired"];

/** An edge whose model `scripted` sends the given answers. */
export async function startAssistantsEdge(...answers: readonly Scripted[]): Promise<AssistantsEdge> {
  const upstream = scriptedUpstream(...answers);
  const control = new FakeControl();
  control.deployments = [
    deployment({ modelName: "scripted", providerKind: "openai", inferenceModelId: "gpt-scripted", apiKey: "k" }),
    deployment({ modelName: "echo" }),
  ];
  const { secret } = control.addKey();
  const edge = await startEdge(control, {
    send: (request, signal) => (request.url.startsWith("echo:") ? echoUpstream(request, signal) : upstream.send(request, signal)),
  });
  const ask = (method: string, path: string, body: unknown, key = secret) =>
    fetch(edge.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const call: AssistantsEdge["call"] = async (method, path, body, key) => {
    const response = await ask(method, path, body, key);
    return { status: response.status, body: await response.json() };
  };
  return {
    ...edge,
    upstream,
    secret,
    call,
    stream: async (path, body) => readEvents(await (await ask("POST", path, { ...body, stream: true })).text()),
    settled: async (threadId, runId) => {
      for (let attempt = 0; attempt < 500; attempt++) {
        const { body } = await call("GET", `/v1/threads/${threadId}/runs/${runId}`);
        if (RESTING.includes(body.status)) return body;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      throw new Error("the run neither ended nor waits for tool outputs");
    },
  };
}

function readEvents(text: string): { event: string; data: Json }[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => {
      const [event = "", data = ""] = block.split("\n");
      const json = data.slice("data: ".length);
      return { event: event.slice("event: ".length), data: json === "[DONE]" ? json : JSON.parse(json) };
    });
}
