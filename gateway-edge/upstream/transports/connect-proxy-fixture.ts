import { once } from "node:events";
import { createServer, type IncomingMessage, request as requestOf, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

/** A small real proxy: it opens tunnels and forwards unencrypted requests, both to a port of this machine, whatever the named host is. */
export interface ConnectProxy {
  readonly url: string;
  /** The targets of its tunnels and forwarded requests. */
  readonly targets: string[];
  readonly authorizations: (string | undefined)[];
  close(): void;
}

export async function startConnectProxy({ refuse = false, hangUp = false } = {}): Promise<ConnectProxy> {
  const targets: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const seen = (target: string, { headers }: IncomingMessage) => {
    targets.push(target);
    authorizations.push(headers["proxy-authorization"]);
  };
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "");
    seen(url.href, request);
    const { "proxy-authorization": _own, ...headers } = request.headers;
    const sent = requestOf({ port: url.port, host: "127.0.0.1", path: url.pathname, method: request.method, headers }, (answer) =>
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers)),
    );
    request.pipe(sent);
  });
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.on("connect", (request, client: Socket) => {
    seen(request.url ?? "", request);
    if (hangUp) return void client.end();
    if (refuse) return void client.end("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    const through = connect(Number(request.url?.split(":").at(-1)), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(through).pipe(client);
    });
    for (const socket of [client, through]) sockets.add(socket.on("error", () => {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    targets,
    authorizations,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
