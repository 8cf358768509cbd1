import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import type { GatedRoute } from "../gate.ts";

export const REALTIME_PATHS: readonly string[] = ["/v1/realtime", "/realtime", "/openai/v1/realtime"];

/** The same paths without an upgrade. */
export function realtimeRoutes(): GatedRoute[] {
  return [
    {
      method: "get",
      paths: REALTIME_PATHS,
      handler: () => {
        throw new AppError("INVALID_REQUEST", "Realtime sessions are WebSockets: connect with ws:// or wss://.");
      },
    },
  ];
}

export function describeRealtime(): OperationDescription[] {
  return REALTIME_PATHS.map((path) => ({
    method: "get",
    path,
    summary: "Open a realtime session (WebSocket, events of OpenAI's Realtime API)",
    tags: ["Realtime"],
    auth: "key",
    query: z.object({ model: z.string() }),
    responses: { 101: { description: "The session is open." }, 400: { description: "The request is not a WebSocket handshake." } },
  }));
}
