import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import { type NanoUsd, nanoUsd } from "../../../common/money.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type CallIdentity, callerIdentity } from "../../credit/call-identity.ts";
import type { Credit } from "../../credit/credit.ts";
import { NO_USAGE, toWireUsage } from "../../credit/pricing/usage.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import type { RpcResponse } from "./json-rpc.ts";

export const MCP_ENDPOINT = "/mcp";

export interface ToolCall {
  readonly callId: string;
  readonly caller: Caller;
  readonly onceFor: string | undefined;
  /** The full name of the tool, as in the list. */
  readonly model: string;
  /** The name of the server. */
  readonly server: string;
  /** Nano-USD. */
  readonly price: bigint;
  readonly onBill: ((cost: NanoUsd) => void) | undefined;
}

interface Outcome {
  readonly status: "success" | "error";
  readonly httpStatus: number;
  readonly errorCode?: string;
}

/** Makes a call that is paid by its number: reserved before, and billed only if the server answers with a result. */
export async function meteredCall(
  { credit, clock }: { credit: Pick<Credit, "reserve" | "settle">; clock: Clock },
  call: ToolCall,
  make: () => Promise<RpcResponse>,
): Promise<RpcResponse> {
  const { caller, model, price } = call;
  const start = { at: clock.now(), ms: clock.monotonicMs() };
  const intent = { ...identityOf(call), createdAtMs: start.at, worstCase: price, tags: [] };
  const { reserved } = await credit.reserve({ intent, model, tokens: 0, isLimited: caller.isLimited });
  // From here on credit is reserved: every way out goes through exactly one settlement.
  const made = await attempt(reserved < price ? tooLittle : make);
  const latencyMs = Math.round(clock.monotonicMs() - start.ms);
  const timing = { createdAt: new Date(start.at), completedAt: new Date(clock.now()), latencyMs, reserved };
  const row = rowOf(call, outcomeOf(made), timing);
  await credit.settle(row);
  call.onBill?.(nanoUsd(row.cost));
  if (made instanceof AppError) throw made;
  return made;
}

async function attempt(make: () => Promise<RpcResponse>): Promise<RpcResponse | AppError> {
  try {
    return await make();
  } catch (thrown) {
    return asAppError(thrown);
  }
}

async function tooLittle(): Promise<never> {
  throw new AppError("QUOTA_EXCEEDED", "The remaining credit does not cover the price of this tool.");
}

function outcomeOf(made: RpcResponse | AppError): Outcome {
  if (made instanceof AppError) return { status: "error", httpStatus: gatewayErrorStatus(made), errorCode: made.code };
  return made.error ? { status: "error", httpStatus: 400, errorCode: "INVALID_REQUEST" } : { status: "success", httpStatus: 200 };
}

function identityOf({ callId, caller, model, onceFor }: ToolCall): CallIdentity {
  const call = { callId, endpoint: MCP_ENDPOINT, model, stream: false, type: "mcp", endUser: undefined, onceFor };
  return { ...callerIdentity(caller), ...call };
}

type Timing = Pick<UsageLog, "createdAt" | "completedAt" | "latencyMs" | "reserved">;

function rowOf(call: ToolCall, outcome: Outcome, timing: Timing): UsageLog {
  return {
    ...identityOf(call),
    ...timing,
    deploymentId: "",
    provider: call.server,
    status: outcome.status,
    httpStatus: outcome.httpStatus,
    errorCode: outcome.errorCode,
    usage: toWireUsage(NO_USAGE),
    cost: nanoUsd(outcome.status === "success" ? call.price : 0n),
    priceVersion: 0,
    cacheHit: false,
    attempts: 1,
    fallbackFrom: undefined,
    firstTokenMs: undefined,
    overheadUs: 0,
    tags: [],
    ledgerSeq: undefined,
    attemptsDetail: [],
  };
}
