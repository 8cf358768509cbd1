import type * as Http from "node:http";

/**
 * Node's `http`. An import of it as a module reads all that it exports, of which some are Node's own WebSocket: all of Node's `fetch` is loaded
 * for that, 60 ms and 14 MB of every process. So it is taken without an import; scripts/tidy/source-rules.ts refuses others.
 */
export const { Agent, createServer, IncomingMessage, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule("node:http");

export type Agent = Http.Agent;
export type ServerResponse = Http.ServerResponse;
