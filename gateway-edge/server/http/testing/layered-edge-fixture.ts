import type { Caller, Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

/** An upstream's response: a body, or frames of a stream. */
export type Reply = (body: Record<string, unknown>, request: UpstreamRequest) => unknown;

export interface LayeredEdge {
  readonly edge: TestEdge;
  readonly control: FakeControl;
  /** Bodies that reached the upstream. */
  readonly sent: Record<string, unknown>[];
  logs(): UsageLog[];
  key(fields?: Partial<Caller>): (path: string, body: unknown) => Promise<Response>;
  close(): Promise<void>;
}

/** In place of a chunk: the upstream sends nothing more. */
export const SILENCE = "silence";

/** An edge with a configuration file's settings and one OpenAI-compatible upstream. */
export async function startLayered(settings: object, reply: Reply, more: readonly Deployment[] = []): Promise<LayeredEdge> {
  const control = new FakeControl();
  control.settings = JSON.stringify(settings);
  const gpt = {
    modelName: "gpt",
    providerKind: "openai",
    inferenceModelId: "gpt-x",
    baseUrl: "http://upstream/v1",
    apiKey: "up",
    params: "{}",
  };
  control.deployments = [deployment(gpt), ...more];
  const sent: Record<string, unknown>[] = [];
  const send: Send = async (request, signal) => {
    const body = JSON.parse(String(request.body)) as Record<string, unknown>;
    sent.push(body);
    const answer = reply(body, request);
    const chunks = Array.isArray(answer) ? (answer as string[]) : [JSON.stringify(answer)];
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        for (const chunk of chunks) {
          if (chunk === SILENCE) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          yield Buffer.from(chunk);
        }
      })(),
    };
  };
  const edge = await startEdge(control, { send });
  return {
    edge,
    control,
    sent,
    logs: () => [...control.settled.values()],
    key: (fields = {}) => {
      const { secret } = control.addKey(fields);
      return (path, body) => edge.post(path, body, { authorization: `Bearer ${secret}` });
    },
    close: () => edge.close(),
  };
}

export function completion(content: string | null, more: object = {}, finish = "stop") {
  return {
    choices: [{ index: 0, message: { role: "assistant", content, ...more }, finish_reason: finish }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

/** Frames as OpenAI streams them: each piece a delta, then the end, the usage and [DONE]. */
export function frames(pieces: readonly (string | object)[], finish = "stop"): string[] {
  const frame = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  return [
    ...pieces.map((piece) => frame(typeof piece === "string" ? { content: piece } : piece)),
    frame({}, finish),
    `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
    "data: [DONE]\n\n",
  ];
}

export const user = (content: string) => [{ role: "user", content }];
