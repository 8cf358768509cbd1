import { z } from "zod";
import { abortSignalOf } from "../../../common/cancel.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ReachableServer } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import { isListed } from "../../upstream/routing/principal.ts";
import type { OpenCalls } from "../open-calls.ts";
import { toolName } from "./protocol.ts";
import { inSession, type ServerSession, type SessionDeps } from "./server-session.ts";

interface ListDeps {
  readonly session: SessionDeps;
  readonly openCalls: OpenCalls;
  readonly logger: Logger;
}

const LIST_MS = 10_000;
const PAGES_MAX = 10;

const toolPage = z.object({ tools: z.array(z.looseObject({ name: z.string() })), nextCursor: z.string().optional() });
type Tool = z.infer<typeof toolPage>["tools"][number];

/** The tools of all servers that the caller may use, by their full names. A server that does not answer is left out. */
export async function listTools(
  deps: ListDeps,
  { caller, signal: ended }: { readonly caller: Caller; readonly signal?: AbortSignal | undefined },
  servers: readonly ReachableServer[],
): Promise<Tool[]> {
  const open = deps.openCalls.open();
  const stopped = abortSignalOf(open.signal);
  const signal = ended ? AbortSignal.any([stopped, ended]) : stopped;
  try {
    const lists = await Promise.all(servers.map((server) => toolsOf(deps, server, signal)));
    return lists.flat().filter(({ name }) => isListed(caller, name));
  } finally {
    open.close();
  }
}

async function toolsOf({ session, logger }: ListDeps, server: ReachableServer, signal: AbortSignal): Promise<Tool[]> {
  try {
    const tools = await inSession(session, server, { timeoutMs: LIST_MS, signal, work: allPages });
    const allowed = server.allowedTools?.names;
    return tools.filter(({ name }) => allowed?.includes(name) ?? true).map((tool) => ({ ...tool, name: toolName(server.name, tool.name) }));
  } catch (error) {
    logger.warn({ mcpServer: server.id, error: String(error) }, "an MCP server is left out of a list of tools");
    return [];
  }
}

async function allPages(session: ServerSession): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { result } = await session.ask("tools/list", cursor === undefined ? {} : { cursor });
    const { tools: more, nextCursor } = toolPage.parse(result);
    tools.push(...more);
    if (nextCursor === undefined) return tools;
    cursor = nextCursor;
  }
  return tools;
}
