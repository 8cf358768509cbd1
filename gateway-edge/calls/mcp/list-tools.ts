import { z } from "zod";
import { abortSignalOf } from "../../../common/cancel.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ReachableServer } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { isListed } from "../../upstream/routing/principal.ts";
import type { OpenCalls } from "../open-calls.ts";
import { ListRoom } from "./list-room.ts";
import type { ListTurns } from "./list-turns.ts";
import { toolName } from "./protocol.ts";
import { inSession, type ServerSession, type SessionDeps } from "./server-session.ts";

interface ListDeps {
  readonly session: SessionDeps;
  readonly openCalls: OpenCalls;
  readonly logger: Logger;
  readonly turns: ListTurns;
}

export interface ListCaller {
  readonly caller: Caller;
  readonly signal?: AbortSignal | undefined;
  /** A call that is counted and billed needs the list; absent: the list is all that was asked for, and it costs nothing. */
  readonly request?: Fields | undefined;
}

const LIST_MS = 10_000;
const PAGES_MAX = 10;

const toolPage = z.object({ tools: z.array(z.looseObject({ name: z.string() })), nextCursor: z.string().optional() });
type Tool = z.infer<typeof toolPage>["tools"][number];

/**
 * The tools of all servers that the caller may use, by their full names. A server that does not answer is left out, and so is one that
 * sends more than a list has room for.
 */
export async function listTools(
  deps: ListDeps,
  { caller, signal: ended, request }: ListCaller,
  servers: readonly ReachableServer[],
): Promise<Tool[]> {
  const open = deps.openCalls.open();
  const stopped = abortSignalOf(open.signal);
  const signal = ended ? AbortSignal.any([stopped, ended]) : stopped;
  const list = async () => {
    signal.throwIfAborted();
    const lists = await Promise.all(servers.map((server) => toolsOf(deps, server, { signal, room: new ListRoom(servers.length) })));
    return lists.flat().filter(({ name }) => isListed(caller, name));
  };
  try {
    return await (request === undefined ? deps.turns.run(caller.keyId, list) : list());
  } finally {
    open.close();
  }
}

interface Listing {
  readonly signal: AbortSignal;
  readonly room: ListRoom;
}

async function toolsOf({ session, logger }: ListDeps, server: ReachableServer, { signal, room }: Listing): Promise<Tool[]> {
  try {
    const work = (opened: ServerSession) => allPages(opened, room);
    const tools = await inSession(session, server, { timeoutMs: LIST_MS, signal, room, work });
    const allowed = server.allowedTools?.names;
    return tools.filter(({ name }) => allowed?.includes(name) ?? true).map((tool) => ({ ...tool, name: toolName(server.name, tool.name) }));
  } catch (error) {
    logger.warn({ mcpServer: server.id, error: String(error) }, "an MCP server is left out of a list of tools");
    return [];
  }
}

async function allPages(session: ServerSession, room: ListRoom): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { result } = await session.ask("tools/list", cursor === undefined ? {} : { cursor });
    // Before they are parsed one by one.
    room.takeTools(Array.isArray(result?.["tools"]) ? result["tools"].length : 0);
    const { tools: more, nextCursor } = toolPage.parse(result);
    tools.push(...more);
    if (nextCursor === undefined) return tools;
    cursor = nextCursor;
  }
  return tools;
}
