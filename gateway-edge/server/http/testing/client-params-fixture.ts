import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Caller, Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

export interface Visit {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A provider's server on this machine: it answers every operation, or as a test says. */
export class LocalUpstream {
  readonly visits: Visit[] = [];
  /** A text is sent as events, anything else as JSON. */
  answer: { readonly status: number; readonly body: unknown } | undefined;
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      this.visits.push({ url: request.url ?? "", headers: request.headers, body: await text(request) });
      const { status, body } = this.answer ?? { status: 200, body: answerOf(request.url ?? "") };
      const isEvents = typeof body === "string";
      response.writeHead(status, { "content-type": isEvents ? "text/event-stream" : "application/json" });
      response.end(isEvents ? body : JSON.stringify(body));
    });
  }

  async open(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.close().closeAllConnections();
  }
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function answerOf(url: string): unknown {
  if (url.includes("embeddings")) return { data: [{ index: 0, embedding: [0.5] }], usage };
  if (url.includes("moderations")) return { id: "m", results: [{ flagged: false, categories: {}, category_scores: {} }] };
  if (url.includes("images")) return { created: 1, data: [{ b64_json: "aGk=" }] };
  if (url.includes("rerank")) return { id: "r", results: [{ index: 0, relevance_score: 0.5 }] };
  if (url.includes("chat")) return { choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }], usage };
  return { choices: [{ index: 0, text: "ok", finish_reason: "stop" }], usage };
}

/** What the operator configured, and no client's address may see. */
export const STORED = { key: "sk-stored-5f2c", header: "operator-header-81", body: "operator-field-82", organization: "org-operator-83" };

export interface ClientParamsEdge {
  readonly edge: TestEdge;
  readonly control: FakeControl;
  /** The server of the deployments. */
  readonly operators: LocalUpstream;
  /** The server that clients name. */
  readonly clients: LocalUpstream;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export interface Listed extends Partial<Deployment> {
  readonly modelName: string;
  /** Absent: the deployment takes nothing from clients. */
  readonly listed?: readonly unknown[];
  readonly more?: object;
}

/** An edge whose deployments take what they list from clients. */
export async function startWithClientParams(
  deployments: readonly Listed[],
  { settings = {}, env = {}, caller = {} }: { settings?: object; env?: Record<string, string>; caller?: Partial<Caller> } = {},
): Promise<ClientParamsEdge> {
  const [operators, clients] = [await new LocalUpstream().open(), await new LocalUpstream().open()];
  const control = new FakeControl();
  control.settings = JSON.stringify({ router_settings: { num_retries: 0 }, ...settings });
  control.deployments = deployments.map(({ listed, more, ...fields }) =>
    deployment({
      providerKind: "openai",
      inferenceModelId: "gpt-x",
      baseUrl: operators.base,
      apiKey: STORED.key,
      params: JSON.stringify({
        organization: STORED.organization,
        extra_headers: { "x-operator": STORED.header, "openai-project": STORED.header },
        extra_body: { operator: STORED.body },
        ...(listed && { configurable_clientside_auth_params: listed }),
        ...more,
      }),
      ...fields,
    }),
  );
  const edge = await startEdge(control, {}, env);
  const { secret } = control.addKey(caller);
  return {
    ...{ edge, control, operators, clients },
    post: (path, body, headers = {}) => edge.post(path, body, { authorization: `Bearer ${secret}`, ...headers }),
    close: async () => {
      await edge.close();
      for (const upstream of [operators, clients]) upstream.close();
    },
  };
}
