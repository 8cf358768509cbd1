import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { systemClock } from "../common/clock.ts";
import { openChannel } from "../common/grpc/client.ts";
import { everyMethod, LIBRARY_METHODS, rawCall } from "../common/grpc/every-method-fixture.ts";
import { CONTROL_TOKEN_KEY } from "../common/peers/control-token.ts";
import { AccessServiceService } from "../proto/gen/tributary/access/v1/access.ts";
import { admitByToken } from "./peers/admission.ts";
import { type RunningServer, startServer } from "./server.ts";
import { openPlatform, type Platform } from "./services/platform-fixture.ts";

const TOKEN = "the-token-of-this-machine";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
/** A ServerReflectionRequest with `list_services: "*"`, field 7 of the message. */
const LIST_SERVICES = Buffer.from([0x3a, 1, 0x2a]);
const asIs = (bytes: Buffer) => bytes;

async function serve(environment: Record<string, string> = {}): Promise<{ server: RunningServer; platform: Platform }> {
  const platform = await openPlatform({ CONTROL_PORT: "0", ...environment });
  const master = { hash: undefined, sha256: undefined };
  // Beats of a watch need a time that passes.
  return { platform, server: await startServer({ ...platform.deps, clock: systemClock }, { master, admit: admitByToken([TOKEN]) }) };
}

/** The names in the answer of a server that reflects, or the gRPC status of one that does not. */
function reflect(port: number): Promise<string | number> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set(CONTROL_TOKEN_KEY, TOKEN);
  return new Promise<string | number>((resolve) => {
    const stream = client.makeBidiStreamRequest(REFLECTION, asIs, asIs, metadata);
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
  const { server, platform } = await serve(environment);
  try {
    expect(await reflect(server.port)).toEqual(expected);
  } finally {
    await server.stop();
    await platform.close();
  }
});

describe("a rogue client of the gRPC port", () => {
  let served: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    served = await serve();
  });
  afterAll(async () => {
    await served.server.stop();
    await served.platform.close();
  });

  const statuses = async (metadata?: Record<string, string>) => {
    const methods = [...(await everyMethod()), ...LIBRARY_METHODS];
    const address = `127.0.0.1:${served.server.port}`;
    const answers = await Promise.all(methods.map((method) => rawCall(address, method, metadata ? { metadata } : {})));
    return new Map(methods.map(({ path }, index) => [path, answers[index]?.code]));
  };

  test.each<[string, Record<string, string> | undefined]>([
    ["without a token", undefined],
    ["with an empty token", { [CONTROL_TOKEN_KEY]: "" }],
    ["with another token of the same length", { [CONTROL_TOKEN_KEY]: "x".repeat(TOKEN.length) }],
    ["with a part of the token", { [CONTROL_TOKEN_KEY]: TOKEN.slice(0, -1) }],
    ["with the token under another name", { authorization: `Bearer ${TOKEN}` }],
  ])("%s is refused by every method of every service but the health check", async (_name, metadata) => {
    const found = await statuses(metadata);
    const open = [...found].filter(([, code]) => code !== status.UNAUTHENTICATED);
    expect(open).toEqual([["/grpc.health.v1.Health/Check", status.OK]]);
    expect(found.size).toBeGreaterThan(100);
  });

  test("with the token is admitted by every method", async () => {
    const found = await statuses({ [CONTROL_TOKEN_KEY]: TOKEN });
    // UNAUTHENTICATED and PERMISSION_DENIED of a handler, for a call without a user, come with a coded error.
    expect(found.get("/tributary.access.v1.AccessService/GetSnapshot")).toBe(status.OK);
    expect(found.get("/tributary.records.v1.RecordsService/ClaimRecords")).not.toBe(status.UNAUTHENTICATED);
    expect(found.get("/grpc.health.v1.Health/Watch")).toBe(status.OK);
  });
});

test("a stopping control plane says so in its health check, then answers running calls, accepts no new ones and waits for no watch", async () => {
  const { server, platform } = await serve();
  const { store, feed } = platform.deps;
  const address = `127.0.0.1:${server.port}`;
  const channel = openChannel(address, { token: TOKEN });
  const access = channel.service(AccessServiceService);
  const options = { deadlineMs: 60_000 };
  const watched = readAll(
    channel.download(AccessServiceService.watch, { afterRevision: 0n, edgeId: "e", place: undefined, withoutChanges: true }, options),
  );
  server.announceStop();
  expect(await healthOf(address)).toBe(NOT_SERVING);
  await expect(access.getSnapshot({}, options)).resolves.toMatchObject({ instance: platform.deps.instance });

  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const get = store.get.bind(store);
  store.get = (async (...asked: Parameters<typeof get>) => {
    reading.resolve();
    await read.promise;
    return get(...asked);
  }) as typeof store.get;
  const running = access.getTeamModels({ teamId: platform.team.id, isAdmin: true, userId: undefined }, options);
  await reading.promise;
  const stopped = server.stop(60_000);
  feed.stop();
  expect(await watched).toBeGreaterThan(0);
  const late = await rawCall(address, { path: "/grpc.health.v1.Health/Check", requestStream: false, responseStream: false });
  expect(late.code).toBe(status.UNAVAILABLE);
  read.resolve();
  await expect(running).resolves.toMatchObject({ models: undefined });
  await stopped;
  channel.close();
  await platform.close();
});

/** ServingStatus.NOT_SERVING of the health check's protocol. */
const NOT_SERVING = 2;

/** The status in the answer of the health check: the value of its only field. */
function healthOf(address: string): Promise<number | undefined> {
  const client = new Client(address, credentials.createInsecure());
  return new Promise<number | undefined>((resolve, reject) => {
    client.makeUnaryRequest("/grpc.health.v1.Health/Check", asIs, asIs, Buffer.alloc(0), (error, answer) =>
      error ? reject(error) : resolve(answer?.at(-1)),
    );
  }).finally(() => client.close());
}

async function readAll(messages: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _message of messages) count++;
  return count;
}
