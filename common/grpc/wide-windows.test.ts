import { once } from "node:events";
import { connect, type Settings } from "node:http2";
import { ServerCredentials } from "@grpc/grpc-js";
import { createGrpcServer, listen, shutDown } from "./server.ts";

test("a client of a gRPC server may send megabytes before it hears from it, on one stream and over the connection", async () => {
  const server = createGrpcServer();
  const port = await listen(server, "127.0.0.1:0", ServerCredentials.createInsecure());
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const request = session.request({ ":method": "POST", ":path": "/nothing/here", "content-type": "application/grpc" });
    request.resume().end();
    let settings: Settings = {};
    while ((settings.initialWindowSize ?? 0) < 1024 * 1024) [settings] = (await once(session, "remoteSettings")) as [Settings];
    while ((session.state.remoteWindowSize ?? 0) < 1024 * 1024) await new Promise((resolve) => setImmediate(resolve));
    expect(settings.initialWindowSize).toBe(4 * 1024 * 1024);
    expect(session.state.remoteWindowSize).toBeGreaterThan(3 * 1024 * 1024);
  } finally {
    const closed = once(session, "close");
    session.destroy();
    await closed;
    await shutDown(server, 0);
  }
});
