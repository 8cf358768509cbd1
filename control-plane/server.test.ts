import { Client, credentials, status } from "@grpc/grpc-js";
import { startServer } from "./server.ts";
import { openPlatform } from "./services/platform-fixture.ts";

const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
/** A ServerReflectionRequest with `list_services: "*"`, field 7 of the message. */
const LIST_SERVICES = Buffer.from([0x3a, 1, 0x2a]);
const asIs = (bytes: Buffer) => bytes;

/** The names in the answer of a server that reflects, or the gRPC status of one that does not. */
function reflect(port: number): Promise<string | number> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return new Promise<string | number>((resolve) => {
    const stream = client.makeBidiStreamRequest(REFLECTION, asIs, asIs);
    stream.on("data", (bytes: Buffer) => resolve(bytes.toString("latin1")));
    stream.on("error", (error: Error & { code: number }) => resolve(error.code));
    stream.end(LIST_SERVICES);
  }).finally(() => client.close());
}

const PRODUCTION = { NODE_ENV: "production", SECRET_KEY: "s".repeat(32), ADMIN_PASSWORD: "a password", MASTER_KEY: "sk-0123456789abcdef" };

test.each<[string, Record<string, string>, unknown]>([
  ["a developer's machine", {}, expect.stringContaining("tributary.access.v1.AccessService")],
  ["production", PRODUCTION, status.UNIMPLEMENTED],
  ["an address beyond loopback", { HOST: "0.0.0.0" }, status.UNIMPLEMENTED],
  ["a public URL", { PUBLIC_URL: "https://gateway.example.org" }, status.UNIMPLEMENTED],
  ["a proxy in front", { TRUST_PROXY: "10.0.0.0/8" }, status.UNIMPLEMENTED],
])("gRPC reflection on %s", async (_name, environment, expected) => {
  const platform = await openPlatform({ CONTROL_PORT: "0", ...environment });
  const server = await startServer(platform.deps, { hash: undefined, sha256: undefined });
  try {
    expect(await reflect(server.port)).toEqual(expected);
  } finally {
    await server.stop();
    await platform.close();
  }
});
