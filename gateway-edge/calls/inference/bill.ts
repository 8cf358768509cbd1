import type { AppError } from "../../../common/errors.ts";
import type { NanoUsd } from "../../../common/money.ts";
import type { Usage } from "../../credit/pricing/usage.ts";

/** How a call ended. */
export type Outcome =
  /** `isCutShort`: the gateway ended the stream because the credits were used up. */
  | { readonly status: "success"; readonly isCutShort?: boolean }
  | { readonly status: "cancelled" }
  | { readonly status: "error"; readonly error: AppError; readonly httpStatus: number };

/** What a call used and what that costs. */
export interface Bill {
  readonly usage: Usage;
  readonly cost: NanoUsd;
}
