/** The baseline of the benchmark: Node's http in, undici out, bytes passed through. Run as a separate process. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";

const upstream = new Pool(process.env["UPSTREAM"] ?? "", { connections: 64 });

const server = createServer((request, response) => {
  upstream
    .request({ path: request.url ?? "/", method: "POST", headers: { "content-type": "application/json" }, body: request })
    .then(({ statusCode, headers, body }) => {
      response.writeHead(statusCode, { "content-type": String(headers["content-type"]) });
      body.pipe(response);
    })
    .catch(() => response.destroy());
});
server.listen(0, "127.0.0.1", () => process.send?.({ type: "ready", port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit(0));
