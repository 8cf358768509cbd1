import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";

/** A method of the wire, as the generated definitions declare it. */
export interface WireMethod {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

const GENERATED = join(import.meta.dirname, "..", "..", "proto", "gen", "tributary");

/** Every method of every service in proto/, so that a new one is tested too. */
export async function everyMethod(): Promise<WireMethod[]> {
  const files = readdirSync(GENERATED, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const modules = await Promise.all(files.map((name) => import(join(GENERATED, name)) as Promise<Record<string, unknown>>));
  const services = modules.flatMap((module) => Object.entries(module).filter(([name]) => name.endsWith("ServiceService")));
  return services.flatMap(([, definition]) => Object.values(definition as Record<string, WireMethod>));
}

const HEALTH = "/grpc.health.v1.Health/";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/** What libraries serve beside ours. */
export const LIBRARY_METHODS: readonly WireMethod[] = [
  { path: `${HEALTH}Check`, requestStream: false, responseStream: false },
  { path: `${HEALTH}List`, requestStream: false, responseStream: false },
  { path: `${HEALTH}Watch`, requestStream: false, responseStream: true },
  { path: REFLECTION, requestStream: true, responseStream: true },
];

const asIs = (bytes: Buffer) => bytes;
const DEADLINE_MS = 5000;

interface RawOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly security?: ChannelCredentials;
  readonly message?: Buffer;
}

/** The gRPC status that a raw client gets for one message, empty unless given, and its text. */
export async function rawCall(address: string, method: WireMethod, options: RawOptions = {}): Promise<{ code: status; details: string }> {
  const client = new Client(address, options.security ?? credentials.createInsecure());
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value);
  const message = options.message ?? Buffer.alloc(0);
  const limit = { deadline: Date.now() + DEADLINE_MS };
  const { promise, resolve } = Promise.withResolvers<{ code: status; details: string }>();
  const ended = (error?: ServiceError | null) =>
    resolve(error ? { code: error.code, details: error.details } : { code: status.OK, details: "" });
  if (method.requestStream && method.responseStream) {
    const call = client.makeBidiStreamRequest(method.path, asIs, asIs, metadata, limit);
    call.on("error", ended).on("data", () => ended());
    call.end(message);
  } else if (method.requestStream) {
    const call = client.makeClientStreamRequest(method.path, asIs, asIs, metadata, limit, ended);
    call.end(message);
  } else if (method.responseStream) {
    const call = client.makeServerStreamRequest(method.path, asIs, asIs, message, metadata, limit);
    call
      .on("error", ended)
      .on("data", () => ended())
      .on("end", () => ended());
  } else client.makeUnaryRequest(method.path, asIs, asIs, message, metadata, limit, ended);
  return await promise.finally(() => client.close());
}
