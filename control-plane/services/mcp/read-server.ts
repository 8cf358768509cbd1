import { AppError } from "../../../common/errors.ts";
import type { CreateServerRequest } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { McpServerRecord } from "../../domain/mcp-servers.ts";

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const HEADER_NAME = /^[A-Za-z0-9-]{1,64}$/;
/** Printable ASCII and tabs: everything else would be refused when it is sent. */
const HEADER_VALUE = /^[\t\x20-\x7e]{1,4096}$/;
const HEADERS_MAX = 20;
/** 1,000 USD. */
const PRICE_MAX = 1_000_000_000_000n;

/** Headers of the protocol and of the connection, which the gateway sets itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "mcp-protocol-version",
  "mcp-session-id",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

type ReadServer = Pick<McpServerRecord, "name" | "headerNames" | "pricePerCall" | "allowedTools" | "teamId">;

/** The checked fields of a new MCP server, but for its address. */
export function readServer({ name, headers, allowedTools, pricePerCall, teamId }: CreateServerRequest): ReadServer {
  if (!NAME.test(name)) refuse("name", `must match ${NAME.source}`);
  if (pricePerCall < 0n || pricePerCall > PRICE_MAX) refuse("pricePerCall", `must be from 0 to ${PRICE_MAX} nano-USD`);
  const tools = allowedTools && { allowedTools: allowedTools.names };
  return { name, headerNames: checkHeaders(headers), pricePerCall, ...tools, ...(teamId !== undefined && { teamId }) };
}

function checkHeaders(headers: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(headers);
  if (names.length > HEADERS_MAX) refuse("headers", `must have at most ${HEADERS_MAX} headers`);
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) refuse("headers", "must not have a header twice");
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) refuse("headers", "must be names and printable values of HTTP headers");
    if (OWN_HEADERS.has(name.toLowerCase())) refuse("headers", `must not set ${name}, which the gateway sets`);
  }
  return names;
}

function refuse(field: string, message: string): never {
  throw new AppError("VALIDATION_ERROR", `The MCP server's ${field} ${message}.`, { details: [{ path: `body.${field}`, message }] });
}
