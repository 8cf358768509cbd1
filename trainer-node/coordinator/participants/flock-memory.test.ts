import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { COORDINATOR_ENV } from "../../../common/node-flags.ts";
import { giveBack } from "../../stream/give-back.ts";

const PARTICIPANTS = 5;
const MODEL_BYTES = 30_000_000;
/** A pickle by its first bytes. */
const model = Buffer.alloc(MODEL_BYTES, Buffer.from([0x80, 4, 1, 2, 3, 5, 7, 11, 13]));
const text = Buffer.from(model.toString("base64"));

interface Received {
  readonly path: string;
  readonly bytes: number;
  readonly isAsAnnounced: boolean;
}

/** Every path is a FLock node, whose updates differ from those of the others in one byte. */
async function serve(received: Received[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, who = "", route = ""] = (request.url ?? "").split("/");
  if (request.method !== "POST") return void response.writeHead(route === "v1" ? 404 : 405).end();
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of request) {
    const data = chunk as Buffer;
    hash.update(data);
    bytes += data.byteLength;
    giveBack(data);
  }
  const { "content-length": length, "x-tributary-content-sha256": sha256 } = request.headers;
  received.push({ path: request.url ?? "", bytes, isAsAnnounced: Number(length) === bytes && sha256 === hash.digest("hex") });
  response.write('{"num_samples":10,"parameters":"');
  // The third byte of the model is that of this participant.
  response.write(route === "train" ? Buffer.from([0x80, 4, Number(who)]).toString("base64") : text.subarray(0, 4));
  response.write(text.subarray(4));
  response.end('"}');
}

test("five FLock participants train and aggregate opaque models within three models of memory", async () => {
  const received: Received[] = [];
  const server = createServer((request, response) => void serve(received, request, response)).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const entry = join(__dirname, "../../../test/helpers/flock-memory-main.ts");
  try {
    const urls = Array.from({ length: PARTICIPANTS }, (_, index) => `${base}/${index}`);
    const { stdout } = await promisify(execFile)(process.execPath, [entry, ...urls], { env: { ...process.env, ...COORDINATOR_ENV } });
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(Number(stdout)).toBeLessThan(3 * MODEL_BYTES);
    expect(received.filter(({ isAsAnnounced }) => !isAsAnnounced)).toEqual([]);
    const aggregated = received.filter(({ path }) => path.endsWith("/aggregate"));
    expect(aggregated.map(({ bytes }) => Math.floor(bytes / text.byteLength))).toEqual([5, 5, 5, 5]);
  } finally {
    server.close();
  }
}, 120_000);
