import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeServer {
  readonly url: string;
  /** Each request so far: "GET /v1/prompts?limit=100". */
  readonly requests: readonly string[];
  stop(): void;
}

/** A platform that answers as a test says. */
export async function startFakeServer(answer: (request: IncomingMessage) => { status?: number; body: unknown }): Promise<FakeServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const { status = 200, body } = answer(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
