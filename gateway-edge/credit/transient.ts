import type { AppError } from "../../common/errors.ts";

/** Whether asking again can help: the control plane was away, too slow, or in trouble, and did not refuse what was asked. */
export function isTransient({ code }: AppError): boolean {
  return code === "UNAVAILABLE" || code === "DB_TIMEOUT" || code === "SERVER_ERROR";
}
