/**
 * A provider with negligible cost: one fixed response, whole or as 50 chunks, one after the other or, if the request says `every 20 ms`, at
 * that pace (or another). Run as a separate process.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const CHUNKS = 50;
const head = { id: "chatcmpl-bench", created: 1_760_000_000, model: "bench" };
const usage = { prompt_tokens: 20, completion_tokens: 50, total_tokens: 70 };
const whole = JSON.stringify({
  ...head,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "word ".repeat(CHUNKS) }, finish_reason: "stop" }],
  usage,
});
const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const chunks = [
  chunk({ role: "assistant", content: "" }, null),
  ...Array.from({ length: CHUNKS }, () => chunk({ content: "word " }, null)),
  chunk({}, "stop"),
  `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], usage })}\n\n`,
  "data: [DONE]\n\n",
];

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    const isStream = body.includes('"stream":true');
    response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
    if (!isStream) return void response.setHeader("content-length", Buffer.byteLength(whole)).end(whole);
    const paceMs = Number(/every (\d+) ms/.exec(body.toString("latin1"))?.[1] ?? 0);
    // A turn of the event loop between chunks, so that they are sent one by one as by a real provider.
    let sent = 0;
    const next = () => {
      const part = chunks[sent++];
      if (part === undefined) return void response.end();
      response.write(part);
      if (paceMs > 0) setTimeout(next, paceMs);
      else setImmediate(next);
    };
    next();
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ type: "ready", port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit(0));
