import type { McpServer } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { EdgeDeps } from "../../deps.ts";
import { idParams, pageQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/mcp-servers.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { money, presentList, sent } from "./present.ts";

const tag = "MCP servers";

export function mcpServerOperations(deps: EdgeDeps): Operation[] {
  return [listServers(deps), createServer(deps), deleteServer(deps)];
}

const listServers = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/mcp-servers",
    summary: "List the MCP servers of the active organization; for owners and admins",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listMcpServersAnswer,
    handler: async ({ query }, call) => {
      const { servers, meta } = await control.mcp.listServers({ page: query }, call.read());
      return presentList(servers, meta, presentServer);
    },
  });

const createServer = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/mcp-servers",
    summary: "Register an MCP server, whose tools API keys of the organization call at /mcp",
    tag,
    auth: "user",
    body: schemas.createMcpServerBody,
    status: 201,
    answer: schemas.mcpServerAnswer,
    handler: async ({ body: { name, url, headers, allowedTools, pricePerCall, team_id: teamId } }, call) => {
      const request = {
        name,
        url,
        headers: headers ?? {},
        allowedTools: allowedTools ? { names: allowedTools } : undefined,
        pricePerCall: BigInt(pricePerCall ?? 0),
        teamId: teamId ?? undefined,
      };
      const { server } = await control.mcp.createServer(request, call.write());
      return { server: presentServer(sent(server, "server")) };
    },
  });

const deleteServer = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/gw/mcp-servers/:id",
    summary: "Delete an MCP server; its tools can no longer be called",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.deletedMcpServerAnswer,
    handler: async ({ params }, call) => {
      await control.mcp.deleteServer(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

function presentServer(server: McpServer): schemas.McpServerRecord {
  const { id, organizationId, name, url, headerNames, allowedTools, teamId, createdBy } = server;
  return {
    id,
    organizationId,
    name,
    url,
    headerNames,
    allowedTools: allowedTools?.names ?? null,
    ...money("pricePerCall", server.pricePerCall),
    team_id: teamId ?? null,
    createdBy,
    createdAt: sent(server.createdAt, "createdAt"),
  };
}
