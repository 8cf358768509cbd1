import { ItemNames, proxiedResponse } from "../../calls/dialects/responses/proxied.ts";
import { type ResponseIdentity, responseOfPieces, responseUsage, wholeResponse } from "../../calls/dialects/responses/response.ts";
import type { Bill } from "../../calls/inference/bill.ts";
import type { ProxiedAnswer } from "../../calls/inference/jobs/proxied.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { LoopedAnswer } from "./tool-loop.ts";

export type ResponseAnswer = ProxiedAnswer | LoopedAnswer;

/** A whole answer of any model as a response. */
export function responseOf(answer: ResponseAnswer, identity: ResponseIdentity, context: { bill: Bill; nowMs: number }): Fields {
  if ("pieces" in answer) return responseOfPieces(identity, answer, context);
  if (!("proxied" in answer)) return wholeResponse(identity, answer, context);
  const { proxied: response } = answer;
  const usage = response["usage"] ?? responseUsage(context.bill.usage);
  return proxiedResponse(identity, { ...response, usage }, new ItemNames(identity.suffix));
}
