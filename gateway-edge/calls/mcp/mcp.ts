import { abortSignalOf } from "../../../common/cancel.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { NanoUsd } from "../../../common/money.ts";
import { createGuard } from "../../../common/outbound.ts";
import { callerBlocked } from "../../../common/team-blocked.ts";
import { VERSION } from "../../../common/version.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ReachableServer } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { Credit } from "../../credit/credit.ts";
import type { EdgeDeps } from "../../deps.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { isListed } from "../../upstream/routing/principal.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import type { GuardrailLayer } from "../guardrails/guardrail-layer.ts";
import type { Refusals } from "../refusals.ts";
import { failureOf, RPC_CODE, type RpcAnswer, type RpcId, type RpcMessage, refusalOf, resultOf } from "./json-rpc.ts";
import { listTools } from "./list-tools.ts";
import { ListTurns } from "./list-turns.ts";
import { PROTOCOL_VERSION, PROTOCOL_VERSIONS, splitToolName } from "./protocol.ts";
import { inSession, type SessionDeps } from "./server-session.ts";
import { MCP_ENDPOINT, meteredCall } from "./tool-call.ts";

export interface McpDeps extends Pick<EdgeDeps, "config" | "control" | "clock" | "logger" | "openCalls"> {
  readonly credit: Pick<Credit, "reserve" | "settle">;
  readonly guardrails: Pick<GuardrailLayer, "chosenFor">;
  readonly refusals: Pick<Refusals, "note">;
}

/** An MCP server made of the MCP servers that organizations registered. It has no sessions of its own. */
export interface Mcp {
  /** The answer to a message; undefined: it needs none. */
  handle(message: RpcMessage, from: McpCaller): Promise<RpcAnswer | undefined>;
  /** Resolves when no call of a tool runs. */
  settled(): Promise<void>;
}

export interface McpCaller {
  readonly callId: string;
  readonly caller: Caller;
  /** The key of the background work that makes this call: of all calls with one key, one is billed. */
  readonly onceFor?: string | undefined;
  /** Called with the cost of a call that was billed. */
  readonly onBill?: ((cost: NanoUsd) => void) | undefined;
  /** The servers whose tools are listed; absent: all. */
  readonly servers?: readonly string[] | undefined;
  /** The call that uses the tools: its guardrails hold for them too. */
  readonly request?: Fields | undefined;
  /** Ends a list of tools; absent: only the edge's stop does. */
  readonly signal?: AbortSignal | undefined;
}

interface McpRequest extends McpCaller {
  readonly params: Readonly<Record<string, unknown>>;
}

const FIND_MS = 2000;
const NAME_LENGTH_MAX = 256;
/** In the log, in the place of a tool's name. */
const LIST_NAME = "tools/list";

export function createMcp(deps: McpDeps): Mcp {
  const session: SessionDeps = { clock: deps.clock, guard: createGuard({ allowPrivate: deps.config.allowPrivateMcp }) };
  const running = new Set<Promise<unknown>>();
  const methods = methodsOf(deps, session);
  return {
    async handle({ id, method, params = {} }, from) {
      if (id === undefined || method === undefined) return undefined;
      const work = methods[method];
      if (!work) return failureOf(id, { code: RPC_CODE.noMethod, message: `The method ${method} does not exist.` });
      const answer = answerOf(id, () => work({ ...from, params }, id));
      running.add(answer);
      return await answer.finally(() => running.delete(answer));
    },
    async settled() {
      await Promise.all(running);
    },
  };
}

async function answerOf(id: RpcId, work: () => Promise<RpcAnswer> | RpcAnswer): Promise<RpcAnswer> {
  try {
    return await work();
  } catch (thrown) {
    return refusalOf(id, thrown);
  }
}

type Method = (request: McpRequest, id: RpcId) => Promise<RpcAnswer> | RpcAnswer;

function methodsOf(deps: McpDeps, session: SessionDeps): Readonly<Record<string, Method | undefined>> {
  const turns = new ListTurns();
  return Object.assign(Object.create(null) as Record<string, Method>, {
    initialize: ({ params }: McpRequest, id: RpcId) => resultOf(id, initialized(params["protocolVersion"])),
    ping: (_request: McpRequest, id: RpcId) => resultOf(id, {}),
    "tools/list": async (request: McpRequest, id: RpcId) => {
      refuse(deps, request);
      const servers = await serversOf(deps, request.caller);
      const wanted = servers.filter(({ name }) => request.servers?.includes(name) ?? true);
      const list = async () => ({ tools: await listTools({ ...deps, session, turns }, request, wanted) });
      return resultOf(id, await countedList(deps, request, list));
    },
    "tools/call": (request: McpRequest, id: RpcId) => callTool(deps, session, { ...request, id }),
  });
}

type Listed = Record<string, unknown>;

/** A list costs nothing. By a key with limits it is a request that they count, and has a row; as a part of another call it is neither. */
async function countedList(deps: McpDeps, { callId, caller, request }: McpCaller, list: () => Promise<Listed>): Promise<object> {
  if (!caller.isLimited || request !== undefined) return await list();
  const call = { callId, caller, onceFor: undefined, onBill: undefined, model: LIST_NAME, server: "", price: 0n };
  const { result } = await meteredCall(deps, call, async () => ({ result: await list() }));
  return result ?? {};
}

function initialized(asked: unknown) {
  const protocolVersion = PROTOCOL_VERSIONS.find((version) => version === asked) ?? PROTOCOL_VERSION;
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "tributary", version: VERSION } };
}

async function callTool(deps: McpDeps, session: SessionDeps, { id, ...request }: McpRequest & { id: RpcId }): Promise<RpcAnswer> {
  const { caller, callId, onceFor, onBill, params } = request;
  const model = typeof params["name"] === "string" ? params["name"].slice(0, NAME_LENGTH_MAX) : "";
  try {
    const { server, tool } = await findTool(deps, request, model);
    const call = { callId, caller, onceFor, onBill, model, server: server.name, price: server.pricePerCall };
    const sent = { name: tool, arguments: params["arguments"] ?? {} };
    const { result, error } = await meteredCall(deps, call, () => ask(deps, session, { server, sent }));
    return error ? failureOf(id, error) : resultOf(id, result ?? {});
  } catch (thrown) {
    const error = asAppError(thrown);
    const httpStatus = gatewayErrorStatus(error);
    const refusal = { callId, caller, endpoint: MCP_ENDPOINT, model, stream: false, endUser: undefined, tags: [], error, httpStatus };
    if (httpStatus < 500) deps.refusals.note(refusal);
    throw error;
  }
}

/** A client that disconnects does not end the call: the tool may have worked already, and is billed if it has. */
async function ask({ openCalls, config }: McpDeps, session: SessionDeps, { server, sent }: { server: ReachableServer; sent: object }) {
  const open = openCalls.open();
  try {
    const limits = { timeoutMs: config.mcpTimeoutMs, signal: abortSignalOf(open.signal) };
    return await inSession(session, server, { ...limits, work: (opened) => opened.ask("tools/call", sent) });
  } finally {
    open.close();
  }
}

/** A tool that the caller may not use and a tool that does not exist give the same error. */
async function findTool(deps: McpDeps, from: McpCaller, name: string): Promise<{ server: ReachableServer; tool: string }> {
  refuse(deps, from);
  const { caller } = from;
  const named = splitToolName(name);
  const server = named && (await serversOf(deps, caller)).find((each) => each.name === named.server);
  const isAllowed = server && (server.allowedTools?.names.includes(named.tool) ?? true) && isListed(caller, name);
  if (!isAllowed) throw new AppError("NOT_FOUND", `There is no tool ${name}, or this API key may not use it.`);
  return { server, tool: named.tool };
}

async function serversOf({ control }: McpDeps, { organizationId, teamId }: Caller): Promise<readonly ReachableServer[]> {
  return (await control.mcp.findServers({ organizationId, teamId }, { deadlineMs: FIND_MS })).servers;
}

function refuse({ guardrails }: McpDeps, { caller, request }: McpCaller): void {
  if (caller.status === "team_blocked") throw callerBlocked(caller);
  if (guardrails.chosenFor({ caller, request }).length > 0) {
    const whose = request === undefined ? "this API key" : "this call";
    throw new AppError("FORBIDDEN", `Guardrails apply to ${whose}, and they cannot read calls of tools.`);
  }
}
