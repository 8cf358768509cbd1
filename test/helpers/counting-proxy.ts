import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy in front of a participant that counts training calls and can change the responses. */
export interface CountingProxy {
  readonly url: string;
  /** Number of training calls by round. */
  readonly calls: Map<string, number>;
  /** Delay before the response to a training call is forwarded. */
  delayMs: number;
  close(): void;
}

const HOP = new Set(["host", "connection", "content-length", "transfer-encoding", "keep-alive"]);

export async function openCountingProxy(
  target: string,
  { tamper = (bytes) => bytes, delayMs = 0 }: { tamper?: (bytes: Buffer) => Buffer; delayMs?: number } = {},
): Promise<CountingProxy> {
  const calls = new Map<string, number>();
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(request);
    const round = roundOf(request, body);
    if (round !== undefined) calls.set(round, (calls.get(round) ?? 0) + 1);
    const answer = await forwardRequest(target, request, body);
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (round !== undefined) await new Promise((resolve) => setTimeout(resolve, proxy.delayMs));
    const sent = round !== undefined && answer.ok ? tamper(bytes) : bytes;
    response.writeHead(answer.status, headersOf(answer, sent !== bytes));
    response.end(sent);
  };
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const proxy: CountingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    delayMs,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return proxy;
}

function forwardRequest(target: string, request: IncomingMessage, body: Buffer): Promise<Response> {
  const headers = Object.entries(request.headers).filter(([name]) => !HOP.has(name));
  return fetch(target + request.url, {
    method: request.method ?? "GET",
    headers: Object.fromEntries(headers) as Record<string, string>,
    ...(request.method === "POST" ? { body: new Uint8Array(body) } : {}),
  });
}

/** If the bytes are changed, the hash of the original bytes is removed. */
function headersOf(answer: Response, isChanged: boolean): Record<string, string> {
  const result = answer.headers.get("x-result");
  return {
    "content-type": answer.headers.get("content-type") ?? "application/json",
    ...(result === null ? {} : { "x-result": isChanged ? JSON.stringify({ num_samples: samplesIn(result) }) : result }),
  };
}

/** The round of a training call; undefined for every other call. */
function roundOf(request: IncomingMessage, body: Buffer): string | undefined {
  if (request.method !== "POST") return undefined;
  const config = request.headers["x-train-config"];
  if (request.url?.endsWith("/train")) {
    const fields = typeof config === "string" ? Buffer.from(config, "base64").toString() : body.toString();
    return String((JSON.parse(fields) as { round_id?: string }).round_id ?? "");
  }
  // FLock's second protocol has no round ID, so the base parameters identify the round.
  const { method, parameters } = request.url?.endsWith("/call")
    ? (JSON.parse(body.toString()) as { method?: string; parameters?: string })
    : {};
  return method === "train" ? (parameters ?? "fresh").slice(-64) : undefined;
}

function samplesIn(result: string): unknown {
  return (JSON.parse(result) as { num_samples?: unknown }).num_samples;
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
