import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/** One response of the scripted provider. */
export interface ScriptedResponse {
  readonly text?: string;
  /** Sound, as so many bytes in one delta. */
  readonly audioBytes?: number;
  readonly usage: object;
  /** It does not end before it is cancelled. */
  readonly hangs?: boolean;
  /** The provider closes the connection instead of ending it. */
  readonly breaks?: boolean;
}

export interface ScriptedUpstream {
  readonly url: string;
  /** Requests for sessions. */
  readonly opened: { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  /** Every event that arrived, with its text. */
  readonly received: Record<string, unknown>[];
  readonly sockets: WebSocket[];
  /** Answers handshakes with this instead. */
  refusal: { readonly status: number; readonly body: string } | undefined;
  close(): Promise<void>;
}

/** A provider that speaks the events of the Realtime API; `responses` are given in turn. */
export async function startRealtimeUpstream(responses: readonly ScriptedResponse[] = []): Promise<ScriptedUpstream> {
  const server = createServer();
  const accepting = new WebSocketServer({ noServer: true });
  const opened: ScriptedUpstream["opened"] = [];
  const received: ScriptedUpstream["received"] = [];
  const sockets: WebSocket[] = [];
  const upstream = { opened, received, sockets, refusal: undefined as ScriptedUpstream["refusal"] };
  let next = 0;
  server.on("upgrade", (request, socket, head) => {
    opened.push({ url: request.url ?? "", headers: request.headers });
    const { refusal } = upstream;
    if (refusal) {
      socket.end(
        `HTTP/1.1 ${refusal.status} No\r\ncontent-type: application/json\r\ncontent-length: ${refusal.body.length}\r\n\r\n${refusal.body}`,
      );
      return;
    }
    accepting.handleUpgrade(request, socket, head, (client) => {
      sockets.push(client);
      serve(client, { received, take: () => responses[next++] });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(upstream, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => {
      for (const socket of sockets) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function serve(
  client: WebSocket,
  { received, take }: { received: Record<string, unknown>[]; take: () => ScriptedResponse | undefined },
): void {
  const running = new Map<string, ScriptedResponse>();
  let count = 0;
  const say = (type: string, fields: object = {}) => client.send(JSON.stringify({ type, event_id: `event_${count++}`, ...fields }));
  const end = (id: string, status: string) => {
    const response = running.get(id);
    if (!running.delete(id)) return;
    say("response.done", { response: { id, object: "realtime.response", status, output: [], usage: response?.usage } });
  };
  const answer = (response: ScriptedResponse | undefined) => {
    if (!response) return say("error", { error: { type: "invalid_request_error", message: "The script is over." } });
    const id = `resp_${count}`;
    running.set(id, response);
    say("response.created", { response: { id, object: "realtime.response", status: "in_progress" } });
    if (response.text !== undefined) say("response.output_text.delta", { response_id: id, delta: response.text });
    if (response.audioBytes !== undefined) {
      say("response.output_audio.delta", { response_id: id, delta: Buffer.alloc(response.audioBytes).toString("base64") });
    }
    if (response.breaks) client.terminate();
    else if (!response.hangs) end(id, "completed");
  };
  say("session.created", { session: { id: "sess_1", object: "realtime.session" } });
  client.on("message", (data) => {
    const event = JSON.parse(String(data)) as Record<string, unknown>;
    received.push(event);
    if (event["type"] === "session.update") say("session.updated", { session: event["session"] });
    if (event["type"] === "response.cancel") for (const id of [...running.keys()]) end(id, "cancelled");
    if (event["type"] === "response.create") answer(take());
  });
}
