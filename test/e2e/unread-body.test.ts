import { connect } from "node:net";
import { evidence } from "../helpers/evidence.ts";
import { type System, startSystem } from "../helpers/system.ts";

let system: System;
beforeAll(async () => {
  system = await startSystem({ trainer: true, env: { TRAINER_TOKEN: "a-token-of-the-trainer" } });
});
afterAll(() => system.stop());

const GIGABYTE = 1_000_000_000;
/** What a machine's own socket buffers may take of it without a process having read a byte. */
const SENT_BYTES_MAX = 16 * 1024 * 1024;

/** A caller without a key who announces a gigabyte and sends it as fast as it is taken. */
async function flood(url: string, path: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  const begunMs = performance.now();
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nx-gw-api-key: sk-wrong-key-of-nobody\r\ncontent-length: ${GIGABYTE}\r\n\r\n`);
  const piece = Buffer.alloc(64 * 1024, "x");
  const send = () => {
    while (!socket.destroyed && socket.bytesWritten < GIGABYTE && socket.write(piece));
  };
  socket.on("drain", send);
  send();
  // Not by events.once, which rejects: a reset is one of the ways in which this ends.
  await new Promise((resolve) => socket.once("close", resolve));
  return { status: Number(text.slice(9, 12)), text, sentBytes: socket.bytesWritten, tookMs: performance.now() - begunMs };
}

test.each([
  ["the gateway", () => system.url, "/v1/chat/completions", 401],
  ["the hosted listener", () => system.hostedUrl, "/v1/chat/completions", 401],
  ["the platform", () => system.url, "/api/gw/teams", 401],
  ["a path that does not exist", () => system.url, "/nowhere", 404],
  ["a node behind the edge", () => system.url, "/training/nodes/node_local/train", 401],
  ["the trainer", () => system.trainerUrl, "/train", 401],
])("%s takes little of a gigabyte from a caller without a key, and hangs up", async (name, url, path, status) => {
  const refused = await flood(url(), path);
  expect([refused.status, /connection: close/i.test(refused.text)]).toEqual([status, true]);
  expect(refused.sentBytes).toBeLessThan(SENT_BYTES_MAX);
  expect(refused.tookMs).toBeLessThan(5000);
  for (const item of ["S-46", "F12"]) evidence(item, `${name}: ${Math.ceil(refused.sentBytes / 1024)} KiB of a gigabyte sent, ${status}`);
});
