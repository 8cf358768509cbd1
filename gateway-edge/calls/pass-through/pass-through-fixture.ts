import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../../server/http/testing/edge-fixture.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const servers: Server[] = [];
const edges: TestEdge[] = [];

export async function closeAll(): Promise<void> {
  await Promise.all(edges.map((edge) => edge.close()));
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
}

/** The last provider is gone. */
export async function closeLastProvider(): Promise<void> {
  const server = servers.at(-1);
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const OPEN = { general_settings: { pass_through: true } };

/** An edge in front of one server that is every provider. */
export async function open(
  answer: Answer,
  settings: object = OPEN,
  deployments: readonly Deployment[] = [],
  { without }: { without?: string } = {},
) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      answer(request, response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const control = new FakeControl();
  control.settings = JSON.stringify(settings);
  const at = (kind: string, baseUrl: string) =>
    deployment({
      modelName: `our-${kind}`,
      providerKind: kind,
      inferenceModelId: `${kind}-x`,
      baseUrl,
      apiKey: `up-${kind}`,
      params: "{}",
    });
  control.deployments = [
    at("openai", `${base}/v1`),
    at("anthropic", base),
    at("gemini", `${base}/deep/base`),
    at("azure", base),
    at("mistral", `${base}/v1`),
    at("cohere", base),
    ...deployments,
  ].filter(({ providerKind }) => providerKind !== without);
  const edge = await startEdge(control);
  edges.push(edge);
  const { secret } = control.addKey();
  const call = (path: string, init: RequestInit & { key?: string } = {}) =>
    fetch(edge.url + path, { ...init, headers: { authorization: `Bearer ${init.key ?? secret}`, ...init.headers } });
  const post = (path: string, body: object, init: RequestInit & { key?: string } = {}) =>
    call(path, { ...init, method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", ...init.headers } });
  const logs = () => [...control.settled.values()];
  return { control, edge, seen, call, post, logs };
}

export const json =
  (body: unknown, status = 200): Answer =>
  (_request, response) => {
    response.writeHead(status, {
      "content-type": "application/json",
      "set-cookie": "a=b",
      "openai-organization": "ours",
      "content-security-policy": "script-src *",
      "access-control-allow-origin": "*",
      "service-worker-allowed": "/",
      "x-ratelimit-remaining-requests": "9",
    });
    response.end(JSON.stringify(body));
  };

export async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error("it did not come about within five seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Server-sent events; a text is sent as it is. `isCut`: the connection breaks after them. */
export const events =
  (frames: readonly (object | string)[], { isCut = false } = {}): Answer =>
  (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const text = frames.map((frame) => `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`).join("");
    response.write(text, () => (isCut ? response.destroy() : response.end()));
  };
