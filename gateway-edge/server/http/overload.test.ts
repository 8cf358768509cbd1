import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { FakeControl, startEdge } from "./testing/edge-fixture.ts";

const chat = { model: "echo", messages: [{ role: "user", content: "hi" }] };

test("calls above the capacity are refused with 503 and retry-after before key and body are read; other requests are served", async () => {
  const control = new FakeControl();
  const overload = { isFull: true, refusal: () => (overload.isFull ? 3 : undefined) };
  const edge = await startEdge(control, {}, {}, { overload });
  try {
    const headers = { authorization: `Bearer ${control.addKey().secret}` };
    for (const path of ["/v1/chat/completions", "/v1/chat/completions?", "/v1/responses", "/mcp", "/v1/threads/runs", "/threads/t/runs"]) {
      const answer = await edge.post(path, "{ neither key nor JSON");
      const { error } = (await answer.json()) as { error: unknown };
      expect([path, answer.status, answer.headers.get("retry-after")]).toEqual([path, 503, "3"]);
      expect(error).toEqual({
        message: "The gateway has more calls than it can serve. Send the request again after the seconds in the retry-after header.",
        type: "api_connection_error",
        param: null,
        code: "service_unavailable",
      });
      expect([answer.headers.get("x-should-retry"), answer.headers.get("x-content-type-options")]).toEqual([null, "nosniff"]);
      for (const name of ["x-request-id", "x-gw-call-id"]) expect(answer.headers.get(name)).toMatch(/^\w+$/);
    }
    const anthropic = await edge.post("/v1/messages", "{}");
    expect([anthropic.status, ((await anthropic.json()) as { type: string }).type]).toEqual([503, "error"]);
    expect(control.intents).toEqual([]);
    expect((await fetch(`${edge.url}/v1/models`, { headers })).status).toBe(200);
    const text = { messages: chat.messages };
    // What makes no call is answered: a running response can be canceled, which relieves the edge.
    expect((await edge.post("/v1/responses/resp_none/cancel", undefined, headers)).status).toBe(404);
    expect((await edge.post("/v1/messages/count_tokens", { model: "echo", ...text }, headers)).status).toBe(200);
    expect((await edge.post("/openai/v1/files", "{}")).status).toBe(503);
    expect((await edge.post("/v1/batches", {}, headers)).status).toBe(422);
    const session = new WebSocket(`${edge.url.replace("http", "ws")}/v1/realtime?model=echo`, { headers });
    const [, refusal] = (await once(session, "unexpected-response")) as [unknown, IncomingMessage];
    expect([refusal.statusCode, refusal.headers["retry-after"]]).toEqual([503, "3"]);
    session.on("error", () => {}).terminate();
    overload.isFull = false;
    expect((await edge.post("/v1/chat/completions", chat, headers)).status).toBe(200);
  } finally {
    await edge.close();
  }
});
