import type { AppError } from "../../../common/errors.ts";
import type { NanoUsd } from "../../../common/money.ts";
import type { Usage } from "../../credit/pricing/usage.ts";

/** How a call ended. */
export type Outcome =
  /** Ended by us where the credits did, if it says so. */
  | { readonly status: "success"; readonly isCutShort?: boolean }
  | { readonly status: "cancelled" }
  | { readonly status: "error"; readonly error: AppError; readonly httpStatus: number };

/** What it used and what that costs. */
export interface Bill {
  readonly usage: Usage;
  readonly cost: NanoUsd;
}
