import { AppError } from "../../../../common/errors.ts";
import type { ResponsesRequest } from "../../../schemas/calls/responses.ts";
import { TOOLS_MAX } from "../../../schemas/calls/sizes.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { asList } from "../../../upstream/providers/shared/json-fields.ts";
import type { JobInput } from "../response-turn.ts";
import { type FileSearchDeps, fileSearchTool } from "./file-search-tool.ts";
import { FunctionNames, type GatewayTool } from "./gateway-tool.ts";
import { listServers, type McpToolDeps, mcpTools, wantedServer } from "./mcp-tools.ts";

export type ToolDeps = FileSearchDeps & McpToolDeps;

/** The tools of a request that the gateway runs. */
export interface OpenTools {
  readonly tools: ReadonlyMap<string, GatewayTool>;
  /** Items that the response begins with: the lists of MCP tools. */
  readonly listed: readonly Fields[];
  /** The request for a model that has only functions. */
  readonly asked: ResponsesRequest;
}

const OWN: readonly unknown[] = ["file_search", "mcp"];

export function hasGatewayTools({ tools }: ResponsesRequest): boolean {
  return tools?.some(({ type }) => OWN.includes(type)) ?? false;
}

export async function openTools(deps: ToolDeps, { asked, caller, signal }: Omit<JobInput, "items">): Promise<OpenTools> {
  const given: readonly Fields[] = asked.tools ?? [];
  const names = new FunctionNames(given.map(({ name }) => String(name)));
  const servers = given.map((tool, index) => (tool["type"] === "mcp" ? wantedServer(tool, `tools[${index}]`) : undefined));
  const wanted = servers.filter((server) => server !== undefined);
  const found = await listServers(deps, wanted, { caller, request: asked, signal });
  const tools: GatewayTool[] = [];
  const listed: Fields[] = [];
  for (const [index, tool] of given.entries()) {
    if (tool["type"] === "file_search") tools.push(await fileSearchTool(deps, { tool, where: `tools[${index}]`, caller, names }));
    const server = servers[index];
    if (!server) continue;
    const own = mcpTools(deps, server, { found, names });
    tools.push(...own.tools);
    listed.push(own.listed);
  }
  const functions = [...given.filter(({ type }) => !OWN.includes(type)), ...tools.map(({ offered }) => offered)];
  if (functions.length > TOOLS_MAX) {
    throw new AppError("INVALID_REQUEST", `tools: the MCP servers and functions have more than ${TOOLS_MAX} tools together.`, {
      param: "tools",
    });
  }
  const changed = { ...asked, tools: functions, tool_choice: choiceOf(asked.tool_choice, tools) } as ResponsesRequest;
  return { tools: new Map(tools.map((tool) => [tool.name, tool])), listed, asked: changed };
}

function choiceOf(choice: ResponsesRequest["tool_choice"], tools: readonly GatewayTool[]): ResponsesRequest["tool_choice"] {
  if (typeof choice !== "object") return choice;
  if (choice["type"] !== "allowed_tools") return named(choice, tools) ?? choice;
  const allowed = asList(choice["tools"]) as readonly Fields[];
  return { ...choice, tools: allowed.flatMap((each) => allowedAs(each, tools)) };
}

/** A server without the name of a tool stands for all of its tools. */
function named(choice: Fields, tools: readonly GatewayTool[]): Fields | undefined {
  const chosen = tools.filter((each) => each.isChosenBy(choice)).map(({ name }) => ({ type: "function", name }));
  return chosen.length > 1 ? { type: "allowed_tools", mode: "required", tools: chosen } : chosen[0];
}

function allowedAs(choice: Fields, tools: readonly GatewayTool[]): Fields[] {
  const own = tools.filter((each) => each.isChosenBy(choice));
  return own.length > 0 ? own.map(({ name }) => ({ type: "function", name })) : [choice];
}
