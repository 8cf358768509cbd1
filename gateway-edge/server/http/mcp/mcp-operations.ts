import type { Request, RequestHandler } from "express";
import { z } from "zod";
import { asAppError } from "../../../../common/errors.ts";
import { failureOf, RPC_CODE, type RpcMessage, rpcMessage } from "../../../calls/mcp/json-rpc.ts";
import type { Mcp } from "../../../calls/mcp/mcp.ts";
import { PROTOCOL_VERSIONS } from "../../../calls/mcp/protocol.ts";
import { MCP_ENDPOINT } from "../../../calls/mcp/tool-call.ts";
import { parseJson, readBody, requireJsonType } from "../../../calls/read-body.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import type { GatedRoute } from "../gate.ts";

/** `POST /mcp`: streamable HTTP without sessions and without streams of the server, so GET and DELETE are 405. */
export function mcpRoutes({ config }: Pick<EdgeDeps, "config">, { mcp }: { mcp: Mcp }): GatedRoute[] {
  return [{ method: "post", paths: [MCP_ENDPOINT], makesCall: true, handler: mcpHandler(mcp, config.jsonBodyBytesMax) }];
}

export function describeMcp(): OperationDescription[] {
  return [
    {
      method: "post",
      path: MCP_ENDPOINT,
      summary: "Send a message of the Model Context Protocol (streamable HTTP): list and call the tools of registered MCP servers",
      tags: ["MCP"],
      auth: "key",
      body: rpcMessage,
      responses: {
        200: {
          description: "The JSON-RPC response; refused calls are errors in it.",
          schema: z.looseObject({ jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number()]).nullable() }),
        },
        202: { description: "A notification was accepted." },
        400: { description: "The body is not a JSON-RPC message, or the protocol version is not known." },
      },
    },
  ];
}

function mcpHandler(mcp: Mcp, bodyBytesMax: number): RequestHandler {
  return async (request, response) => {
    const { message, refused } = await readMessage(request, bodyBytesMax);
    if (!message) {
      response.status(400).json(refused);
      return;
    }
    const answer = await mcp.handle(message, { callId: String(response.locals["callId"]), caller: callerOf(response) });
    if (answer) response.json(answer);
    else response.status(202).end();
  };
}

interface Reading {
  readonly message?: RpcMessage;
  /** The JSON-RPC error to answer with where there is no message. */
  readonly refused?: ReturnType<typeof failureOf>;
}

async function readMessage(request: Request, bodyBytesMax: number): Promise<Reading> {
  requireJsonType(request);
  const version = request.get("mcp-protocol-version");
  const body = await readBody(request, bodyBytesMax);
  if (version !== undefined && !PROTOCOL_VERSIONS.includes(version)) {
    return refusal("invalidRequest", `The protocol version must be one of ${PROTOCOL_VERSIONS.join(", ")}.`);
  }
  try {
    const { success, data } = rpcMessage.safeParse(parseJson(body));
    return success ? { message: data } : refusal("invalidRequest", "The body must be one JSON-RPC 2.0 message; batches are not accepted.");
  } catch (thrown) {
    return refusal("parse", asAppError(thrown).message);
  }
}

function refusal(kind: "parse" | "invalidRequest", message: string): Reading {
  return { refused: failureOf(null, { code: RPC_CODE[kind], message }) };
}
