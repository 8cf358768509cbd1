import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";

/** An MCP server of the official SDK: with sessions and answers as events, or with neither. */
export interface TestMcpServer {
  readonly url: string;
  /** The headers of all requests. */
  readonly requests: IncomingHttpHeaders[];
  /** The texts that the tool was called with. */
  readonly called: string[];
  /** Ids of sessions that were opened and not ended. */
  readonly sessions: ReadonlyMap<string, unknown>;
  close(): Promise<void>;
}

export async function startMcpServer({ hasSessions }: { hasSessions: boolean }): Promise<TestMcpServer> {
  const requests: IncomingHttpHeaders[] = [];
  const called: string[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open = async () => {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      ...(hasSessions && { sessionIdGenerator: () => randomUUID() }),
      enableJsonResponse: !hasSessions,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await toolServer(called).connect(transport as Transport);
    return transport;
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request.headers);
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    await (known ?? (await open())).handleRequest(request, response);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    called,
    sessions,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toolServer(called: string[]): McpServer {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  server.registerTool("shout", { description: "Shouts.", inputSchema: { text: z.string() } }, ({ text }) => {
    called.push(text);
    return { content: [{ type: "text", text: text.toUpperCase() }] };
  });
  server.registerTool("hidden", { description: "Is not allowed." }, () => ({ content: [] }));
  return server;
}
