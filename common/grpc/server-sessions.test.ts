import { once } from "node:events";
import { connect, type Settings } from "node:http2";
import { TLSSocket } from "node:tls";
import { Client, credentials, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { createAuthority } from "../../cli/certs/issue.ts";
import type { PeerRole } from "../peers/peer.ts";
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

test("the certificate of a connection is decoded once, whatever the number of its calls", async () => {
  const authority = await createAuthority(Date.now());
  const issue = async (role: PeerRole, name: string) => {
    const { cert, key } = await authority.issue({ role, name }, { hosts: ["localhost"], days: 1 });
    return { cert: Buffer.from(cert), key: Buffer.from(key) };
  };
  const [here, there] = [await issue("control-plane", "here"), await issue("edge", "there")];
  const ca = Buffer.from(authority.cert);
  const server = createGrpcServer();
  const pass = (bytes: Buffer) => bytes;
  const names = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) =>
    answer(null, Buffer.from(call.getAuthContext().sslPeerCertificate?.subjectaltname ?? "no certificate"));
  server.register("/test/Names", names, pass, pass, "unary");
  const port = await listen(
    server,
    "127.0.0.1:0",
    ServerCredentials.createSsl(ca, [{ cert_chain: here.cert, private_key: here.key }], true),
  );
  const client = new Client(`localhost:${port}`, credentials.createSsl(ca, there.key, there.cert));
  const ask = () =>
    new Promise<string>((resolve, reject) => {
      client.makeUnaryRequest("/test/Names", pass, pass, Buffer.alloc(0), (error, name) => (error ? reject(error) : resolve(String(name))));
    });
  const decoded = jest.spyOn(TLSSocket.prototype, "getPeerCertificate");
  try {
    const heard = [await ask(), await ask(), await ask()];
    expect(heard).toEqual(Array(3).fill(expect.stringContaining("edge/there")));
    const byServer = decoded.mock.contexts.filter((socket) => (socket as TLSSocket).localPort === port);
    expect(byServer).toHaveLength(1);
  } finally {
    decoded.mockRestore();
    client.close();
    await shutDown(server, 0);
  }
});
