import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import {
  type CreateServerRequest,
  CreateServerResponse,
  DeleteServerResponse,
  type McpServer,
  type McpServiceService,
} from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { McpServerRecord } from "../../domain/mcp-servers.ts";
import { collect, readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import type { Reader } from "../../stores/store.ts";
import { type Actor, requireActor, requireOrganizationManager } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { checkTenantUrl } from "../tenant-url.ts";
import { write } from "../write.ts";
import { readServer } from "./read-server.ts";

const SERVERS_MAX = 20;

type Handlers = ServiceHandlers<typeof McpServiceService>;

/** MCP servers of organizations: owners and admins manage them, edges read them for each request at /mcp. */
export function mcpHandlers(deps: ControlDeps): Handlers {
  return {
    createServer: createServer(deps),
    deleteServer: deleteServer(deps),

    async listServers(request, context) {
      const actor = await requireActor(deps, context);
      requireOrganizationManager(actor);
      const page = pageOf(request.page);
      const range = { index: "byName", equals: [actor.organizationId] } as const;
      const { records, total } = await readPage(deps.store, "mcpServers", { ...page, range });
      return { servers: records.map(serverMessage), meta: metaOf(page, total) };
    },

    async findServers({ organizationId, teamId }) {
      const all = await collect(deps.store.scan("mcpServers", { index: "byName", equals: [organizationId], limit: SERVERS_MAX }));
      const usable = all.filter((server) => server.teamId === undefined || server.teamId === teamId);
      return { servers: usable.map((server) => reachable(deps, server)) };
    },
  };
}

const createServer =
  (deps: ControlDeps): Handlers["createServer"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await refuseForeignTeam(deps.store, actor, request.teamId);
    requireOrganizationManager(actor);
    const given = readServer(request);
    const rule = { allowPrivate: deps.config.allowPrivateMcp, what: "The MCP server's address", setting: "ALLOW_PRIVATE_MCP" };
    const url = checkTenantUrl(request.url, rule);
    return write(
      deps,
      context,
      { actor, codec: CreateServerResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, now, audit }) => {
        await refuseNew(tx, actor, request);
        const server: McpServerRecord = {
          id: newId("mcp", deps),
          organizationId: actor.organizationId,
          url,
          ...given,
          sealedHeaders: deps.secrets.seal(Buffer.from(JSON.stringify(request.headers))),
          createdBy: actor.user.id,
          createdAt: now,
        };
        await tx.insert("mcpServers", server);
        await audit({ action: "mcp_server.create", target: server.id, details: { name: server.name, url } });
        return { server: serverMessage(server) };
      },
    );
  };

const deleteServer =
  (deps: ControlDeps): Handlers["deleteServer"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(
      deps,
      context,
      { actor, codec: DeleteServerResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, audit }) => {
        const server = await requireServer(tx, actor, request.id);
        await tx.remove("mcpServers", server.id);
        await audit({ action: "mcp_server.delete", target: server.id, details: { name: server.name } });
        return {};
      },
    );
  };

/** Refuses a taken name and more servers than the limit. */
async function refuseNew(tx: Reader, { organizationId }: Actor, { name }: CreateServerRequest): Promise<void> {
  const known = await collect(tx.scan("mcpServers", { index: "byName", equals: [organizationId], limit: SERVERS_MAX }));
  if (known.some((server) => server.name === name)) {
    const message = "the organization has an MCP server of this name; delete it first";
    throw new AppError("ALREADY_EXISTS", `The name cannot be used: ${message}.`, { details: [{ path: "body.name", message }] });
  }
  if (known.length >= SERVERS_MAX) {
    throw new AppError("VALIDATION_ERROR", `An organization has at most ${SERVERS_MAX} MCP servers. Delete one first.`);
  }
}

/** A team of another organization is NOT_FOUND for every role. */
async function refuseForeignTeam(reader: Reader, { organizationId }: Actor, teamId: string | undefined): Promise<void> {
  if (teamId !== undefined && (await reader.get("teams", teamId))?.organizationId !== organizationId) {
    throw new AppError("NOT_FOUND", "There is no such team.");
  }
}

/** A server of another organization is NOT_FOUND for every role; servers of the own organization need an owner or admin. */
async function requireServer(reader: Reader, actor: Actor, id: string): Promise<McpServerRecord> {
  const server = await reader.get("mcpServers", id);
  if (server?.organizationId !== actor.organizationId) throw new AppError("NOT_FOUND", "There is no such MCP server.");
  requireOrganizationManager(actor);
  return server;
}

const toolList = (names: readonly string[] | undefined) => names && { names: [...names] };

function serverMessage(server: McpServerRecord): McpServer {
  const { id, organizationId, name, url, headerNames, allowedTools, pricePerCall, teamId, createdBy, createdAt } = server;
  return {
    id,
    organizationId,
    name,
    url,
    headerNames: [...headerNames],
    allowedTools: toolList(allowedTools),
    pricePerCall,
    teamId,
    createdBy: BigInt(createdBy),
    createdAt: date(createdAt),
  };
}

function reachable({ secrets }: ControlDeps, { id, name, url, sealedHeaders, allowedTools, pricePerCall }: McpServerRecord) {
  const headers = JSON.parse(secrets.open(sealedHeaders).toString()) as Record<string, string>;
  return { id, name, url, headers, allowedTools: toolList(allowedTools), pricePerCall };
}
