import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newTenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";

const MEGABYTE = 1024 * 1024;
/** LONG_STREAM_MB=700 for the size of the attack that this answers. */
const STREAM_BYTES = Number(process.env["LONG_STREAM_MB"] ?? 200) * MEGABYTE;
/** The heap grows once to the size that it needs, by about 75 MB, whatever the length of the stream. */
const GROWTH_BYTES_MAX = 110 * MEGABYTE;
const WORDS = "one word after another, ".repeat(700);

let system: System | undefined;
let upstream: Server | undefined;
const folder = mkdtempSync(join(tmpdir(), "tributary-long-"));
afterAll(async () => {
  await system?.stop();
  upstream?.close().closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

/** An upstream that writes events until it has written so many bytes, then an end without usage. */
async function startUpstream(): Promise<string> {
  const frame = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const delta = frame({ choices: [{ index: 0, delta: { content: WORDS }, finish_reason: null }] });
  upstream = createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const closed = once(response, "close");
    for (let written = 0; written < STREAM_BYTES && !response.destroyed; written += delta.length)
      if (!response.write(delta)) await Promise.race([once(response, "drain"), closed]);
    response.end(`${frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`);
  }).listen(0, "127.0.0.1");
  await once(upstream, "listening");
  return `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
}

const residentBytes = async ({ url }: System): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes\{[^}]*\} (\S+)$/m.exec(text)?.[1]);
};

test("a long stream that is read leaves the edge's memory as it is", async () => {
  // Prepare.
  const params = `{model: openai/of-unknown-length, api_base: "${await startUpstream()}", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.000001}`;
  writeFileSync(join(folder, "config.yaml"), `model_list:\n  - model_name: long\n    litellm_params: ${params}\n`);
  system = await startSystem({ edges: 1, env: { CONFIG: join(folder, "config.yaml") } });
  const { key } = await newTenant(system, { creditNano: 10_000_000_000_000 });
  // Execute.
  const response = await fetch(`${system.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "long", stream: true, max_tokens: 2_000_000_000, messages: [{ role: "user", content: "go" }] }),
  });
  let [bytes, tail, nextLook] = [0, "", STREAM_BYTES / 8];
  const seen: number[] = [];
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    tail = (tail + Buffer.from(chunk.subarray(-200)).toString("latin1")).slice(-200);
    if (bytes < nextLook) continue;
    nextLook += STREAM_BYTES / 8;
    seen.push(await residentBytes(system));
  }
  // Assert: from an eighth of the stream on.
  const [early = 0, ...later] = seen;
  const growth = Math.max(...later) - early;
  if (process.env["LONG_STREAM_MB"])
    process.stderr.write(`${bytes / MEGABYTE} MB read; resident ${seen.map((each) => Math.round(each / MEGABYTE))} MB\n`);
  expect([response.status, bytes > STREAM_BYTES, tail.endsWith("data: [DONE]\n\n")]).toEqual([200, true, true]);
  expect(seen.length).toBeGreaterThanOrEqual(7);
  expect(growth).toBeLessThan(GROWTH_BYTES_MAX);
}, 300_000);
