import { z } from "zod";
import { type AppError, asAppError, type ErrorCode } from "../../../common/errors.ts";
import { gatewayErrorBody } from "../gateway-error.ts";

export type RpcId = string | number;

/** A message of a client: a request has an id and a method, a notification only a method, a response only an id. */
export const rpcMessage = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string().max(256), z.number()]).optional(),
  method: z.string().max(256).optional(),
  params: z.looseObject({}).optional(),
});
export type RpcMessage = z.infer<typeof rpcMessage>;

/** A response of a server. */
export const rpcResponse = z.looseObject({
  id: z.union([z.string(), z.number()]).nullish(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});
export type RpcResponse = z.infer<typeof rpcResponse>;

export const RPC_CODE = { parse: -32700, invalidRequest: -32600, noMethod: -32601, invalidParams: -32602, refused: -32000 } as const;

export const resultOf = (id: RpcId, result: object) => ({ jsonrpc: "2.0", id, result }) as const;
export const failureOf = (id: RpcId | null, error: { code: number; message: string; data?: unknown }) =>
  ({ jsonrpc: "2.0", id, error }) as const;
export type RpcAnswer = ReturnType<typeof resultOf> | ReturnType<typeof failureOf>;

const PARAMS_CODES: ReadonlySet<ErrorCode> = new Set(["INVALID_REQUEST", "NOT_FOUND", "VALIDATION_ERROR"]);

/** An error of the gateway as a JSON-RPC error; `data` is the error that its other operations answer with. */
export function refusalOf(id: RpcId, thrown: unknown): RpcAnswer {
  const error: AppError = asAppError(thrown);
  const { error: data } = gatewayErrorBody(error);
  return failureOf(id, { code: PARAMS_CODES.has(error.code) ? RPC_CODE.invalidParams : RPC_CODE.refused, message: data.message, data });
}
