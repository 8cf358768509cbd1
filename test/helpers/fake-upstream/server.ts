import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Dialect, Json } from "./dialect.ts";
import { anthropic } from "./dialects/anthropic.ts";
import { bedrock } from "./dialects/bedrock.ts";
import { cohere } from "./dialects/cohere.ts";
import { gemini } from "./dialects/gemini.ts";
import { mistral } from "./dialects/mistral.ts";
import { ollama } from "./dialects/ollama.ts";
import { openai } from "./dialects/openai.ts";
import { openaiResponses } from "./dialects/openai-responses.ts";
import { playMedia, readMedia } from "./media.ts";
import { json, play } from "./play.ts";
import type { Script } from "./script.ts";
import { SCRIPTS, scriptName } from "./scripts.ts";

/** Dialects by the first path segment: http://127.0.0.1:PORT/anthropic/v1/messages. */
const DIALECTS: Readonly<Record<string, Dialect>> = {
  openai,
  azure: openai,
  deepseek: openai,
  responses: openaiResponses,
  mistral,
  anthropic,
  gemini,
  bedrock,
  cohere,
  ollama,
};

/** A received request. */
export interface LoggedRequest {
  readonly dialect: string;
  /** Empty if no dialect has the path. */
  readonly model: string;
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
  readonly bodyText: string;
  readonly arrivedAt: number;
  /** Counts from 1 per model of a dialect. */
  readonly attempt: number;
  /** Set if the caller disconnected before the end of the response. */
  abortedAt?: number;
  bytesSent: number;
  ended: boolean;
}

export interface FakeUpstream {
  readonly url: string;
  /** All requests since the start or the last `forget`, in order of arrival. */
  readonly requests: readonly LoggedRequest[];
  /** Requests to a model, by its full upstream name. */
  of(model: string): readonly LoggedRequest[];
  /** The last request to a model; throws if there is none. */
  last(model: string): LoggedRequest;
  /** Clears the log and restarts every script. */
  forget(): void;
  stop(): Promise<void>;
}

/** A provider with every dialect on one loopback port. The model name selects the response: see scripts.ts. */
export async function startFakeUpstream(scripts: Readonly<Record<string, Script>> = SCRIPTS): Promise<FakeUpstream> {
  const requests: LoggedRequest[] = [];
  const attempts = new Map<string, number>();
  const of = (model: string) => requests.filter((request) => request.model === model);
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    void serve({ request, response, requests, attempts, scripts }).catch((error: unknown) => {
      if (!response.headersSent) json(response, { status: 599, body: { error: { message: `fake upstream: ${String(error)}` } } });
      else response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    of,
    last(model) {
      const found = of(model).at(-1);
      if (!found) throw new Error(`nothing was sent to ${model}; there was ${requests.map((each) => each.model).join(", ") || "nothing"}`);
      return found;
    },
    forget() {
      requests.length = 0;
      attempts.clear();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Serving {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requests: LoggedRequest[];
  readonly attempts: Map<string, number>;
  readonly scripts: Readonly<Record<string, Script>>;
}

async function serve({ request, response, requests, attempts, scripts }: Serving): Promise<void> {
  const arrivedAt = Date.now();
  const { method = "", url = "", headers } = request;
  const { pathname, searchParams } = new URL(url, "http://fake");
  const bytes = Buffer.concat(await request.toArray());
  const bodyText = bytes.toString();
  if (pathname === "/__requests") return readBack(response, requests, searchParams);
  const media = await readMedia(pathname, headers, bytes);
  const body = media?.body ?? parse(bodyText);
  const name = pathname.split("/")[1] ?? "";
  const dialect = DIALECTS[name];
  const asked = dialect?.read(pathname, body);
  const model = media?.model ?? asked?.model ?? "";
  const attempt = (attempts.get(`${name}/${model}`) ?? 0) + 1;
  attempts.set(`${name}/${model}`, attempt);
  const logged: LoggedRequest = {
    dialect: name,
    model,
    method,
    path: url,
    headers,
    body,
    bodyText,
    arrivedAt,
    attempt,
    bytesSent: 0,
    ended: false,
  };
  requests.push(logged);
  watch(response, logged);
  if (media) return await playMedia(media, response);
  if (!dialect || !asked) return json(response, { status: 404, body: { error: { message: `the fake knows no ${method} ${pathname}` } } });
  const script = scripts[scriptName(model)];
  const step = script?.[(attempt - 1) % script.length];
  if (!step)
    return json(response, {
      status: 404,
      body: { error: { message: `the fake has no script ${scriptName(model)}`, code: "model_not_found" } },
    });
  if (asked.operation !== "chat" && asked.operation !== "completions" && step.reply && dialect.other) {
    return json(response, { status: 200, body: dialect.other(asked) });
  }
  await play({ step, asked, dialect, response });
}

function watch(response: ServerResponse, logged: LoggedRequest): void {
  const write = response.write.bind(response) as (chunk: Buffer | string) => boolean;
  response.write = ((chunk: Buffer | string) => {
    logged.bytesSent += Buffer.byteLength(chunk);
    return write(chunk);
  }) as ServerResponse["write"];
  response.on("close", () => {
    if (response.writableFinished) logged.ended = true;
    else logged.abortedAt = Date.now();
  });
}

/** For clients in other processes: GET /__requests?model=pong. */
function readBack(response: ServerResponse, requests: readonly LoggedRequest[], query: URLSearchParams): void {
  const model = query.get("model");
  json(response, { status: 200, body: requests.filter((request) => model === null || request.model === model) });
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
