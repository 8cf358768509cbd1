/**
 * The baseline of the benchmarks: Node's http in, undici's `Pool.dispatch` out, bytes passed through. Run as a separate process. CONNECTIONS is
 * how many calls it has under way at the upstream (256); further ones wait.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dispatcher, Pool } from "undici";

const upstream = new Pool(process.env["UPSTREAM"] ?? "", { connections: Number(process.env["CONNECTIONS"] ?? 256) });
const HEADERS = { "content-type": "application/json" };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    upstream.dispatch({ path: request.url ?? "/", method: "POST", headers: HEADERS, body }, passTo(response));
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ type: "ready", port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit(0));

function passTo(response: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: () => {},
    onResponseStart: (_controller, status, headers) => void response.writeHead(status, passed(headers)),
    onResponseData: (_controller, chunk) => void response.write(chunk),
    onResponseEnd: () => void response.end(),
    onResponseError: () => void response.destroy(),
  };
}

function passed({ "content-type": type, "content-length": length }: Record<string, string | string[] | undefined>) {
  return { "content-type": String(type), ...(length === undefined ? {} : { "content-length": String(length) }) };
}
