import { z } from "zod";
import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { newId } from "../../../../common/ids.ts";
import type { Random } from "../../../../common/random.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Mcp, McpCaller } from "../../../calls/mcp/mcp.ts";
import { splitToolName, toolName } from "../../../calls/mcp/protocol.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { type FunctionNames, type GatewayTool, OUTPUT_LENGTH_MAX, type ToolContext, type ToolResult } from "./gateway-tool.ts";

export interface McpToolDeps {
  readonly mcp: Pick<Mcp, "handle">;
  readonly clock: Clock;
  readonly random: Random;
}

const mcpTool = z.strictObject({
  type: z.literal("mcp"),
  server_label: z.string().min(1).max(128),
  server_description: z.string().nullish(),
  allowed_tools: z.union([z.array(z.string()), z.looseObject({ tool_names: z.array(z.string()).nullish() })]).nullish(),
  require_approval: z.literal("never", "must be never: this gateway asks for no approvals"),
});

/** A server of a request, and those of its tools that the model may use; absent: all. */
export interface WantedServer {
  readonly where: string;
  readonly label: string;
  readonly allowed: readonly string[] | undefined;
}

interface Lister {
  readonly caller: Caller;
  readonly request: Fields;
  readonly signal: AbortSignal | undefined;
}

/** The tools of these servers, listed once for all of them, by their full names. */
export async function listServers(deps: McpToolDeps, servers: readonly WantedServer[], lister: Lister): Promise<readonly Fields[]> {
  const repeated = servers.find(({ label }, index) => servers.findIndex((each) => each.label === label) < index);
  if (repeated) {
    const param = `${repeated.where}.server_label`;
    throw new AppError("INVALID_REQUEST", `${param}: the server ${repeated.label} is named twice. Name each server once.`, { param });
  }
  if (servers.length === 0) return [];
  const from = { ...lister, onceFor: undefined, servers: servers.map(({ label }) => label) };
  return asList((await asked(deps, from, "tools/list", {}))["tools"]).map(asFields);
}

/** The tools of a registered MCP server, and the item that lists them. */
export function mcpTools(
  deps: McpToolDeps,
  { where, label, allowed }: WantedServer,
  { found, names }: { found: readonly Fields[]; names: FunctionNames },
): { tools: GatewayTool[]; listed: Fields } {
  const own = found.flatMap((each) => {
    const named = splitToolName(String(each["name"]));
    return named?.server === label && (allowed?.includes(named.tool) ?? true) ? [{ ...each, name: named.tool } as Fields] : [];
  });
  if (own.length === 0) {
    const message = `${where}: no MCP server ${label} with such tools is registered for this API key, or it does not answer.`;
    throw new AppError("INVALID_REQUEST", message, { param: `${where}.server_label` });
  }
  const shown = own.map(({ name, description, inputSchema, annotations }) => ({
    ...{ name, description: description ?? null, input_schema: inputSchema ?? {}, annotations: annotations ?? null },
  }));
  const listed = { type: "mcp_list_tools", server_label: label, tools: shown, error: null };
  return { listed, tools: own.map((each) => gatewayTool(deps, { label, tool: each, names })) };
}

export function wantedServer(tool: Fields, where: string): WantedServer {
  const parsed = mcpTool.safeParse(tool);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
    const param = [where, ...(unknown === undefined ? (issue?.path ?? []) : [unknown]).map(String)].join(".");
    const problem = unknown === undefined ? issue?.message : "is not available for this model; register the server with the gateway";
    throw new AppError("INVALID_REQUEST", `${param}: ${problem}.`, { param });
  }
  const { server_label: label, allowed_tools: allowed } = parsed.data;
  return { where, label, allowed: (Array.isArray(allowed) ? allowed : allowed?.tool_names) ?? undefined };
}

function gatewayTool(deps: McpToolDeps, { label, tool, names }: { label: string; tool: Fields; names: FunctionNames }): GatewayTool {
  const own = String(tool["name"]);
  const name = names.free(toolName(label, own));
  const description = asText(tool["description"]);
  return {
    name,
    offered: { type: "function", name, parameters: tool["inputSchema"] ?? { type: "object" }, ...(description && { description }) },
    isChosenBy: (choice) =>
      choice["type"] === "mcp" && choice["server_label"] === label && (choice["name"] === undefined || choice["name"] === own),
    run: (argumentsText, context) => called(deps, { label, own }, argumentsText, context),
  };
}

/** Refusals and failures of the tool are results that the model reads. */
async function called(
  deps: McpToolDeps,
  { label, own }: { label: string; own: string },
  argumentsText: string,
  { caller, onceFor, onBill }: ToolContext,
): Promise<ToolResult> {
  const item = { type: "mcp_call", server_label: label, name: own, arguments: argumentsText || "{}", approval_request_id: null };
  try {
    const sent = JSON.parse(argumentsText || "{}") as unknown;
    const result = await asked(deps, { caller, onceFor, onBill }, "tools/call", { name: toolName(label, own), arguments: sent });
    const text = textOf(result).slice(0, OUTPUT_LENGTH_MAX);
    if (result["isError"] === true) return failed(item, text);
    return { item: { ...item, status: "completed", output: text, error: null }, output: text };
  } catch (thrown) {
    return failed(item, thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function failed(item: Fields, message: string): ToolResult {
  return { item: { ...item, status: "failed", output: null, error: message }, output: `The tool failed: ${message}` };
}

function textOf(result: Fields): string {
  const parts = asList(result["content"]).map(asFields);
  return parts.map((part) => asText(part["text"]) ?? JSON.stringify(part)).join("\n");
}

/** A request to the gateway's own MCP server: it checks access, and logs and bills calls. */
async function asked(deps: McpToolDeps, from: Omit<McpCaller, "callId">, method: string, params: Fields): Promise<Fields> {
  const answer = await deps.mcp.handle({ jsonrpc: "2.0", id: 1, method, params }, { ...from, callId: newId("call", deps) });
  if (answer && "result" in answer) return answer.result as Fields;
  throw new AppError("INVALID_REQUEST", answer?.error.message ?? "The MCP server gave no answer.");
}
